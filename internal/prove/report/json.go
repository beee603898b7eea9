package report

import (
	"encoding/json"
	"io"
)

// JSON writes the report itself, without the values of Secrets: a plan in it cannot be replayed
// where it creates one. Its plan file can.
func JSON(w io.Writer, r Report) error {
	r = Redact(r)
	r.Format = Format
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}
