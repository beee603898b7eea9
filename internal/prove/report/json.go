package report

import (
	"encoding/json"
	"io"
)

// JSON writes the report itself, without the values of Secrets. A plan in it cannot be replayed
// if it creates a Secret. Its plan file can be replayed.
func JSON(w io.Writer, r Report) error {
	r = Redact(r)
	r.Format = Format
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}
