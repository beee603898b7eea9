package report

import (
	"encoding/json"
	"fmt"
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

// Read reads what [JSON] wrote. It fails where the format is another one.
func Read(from io.Reader) (Report, error) {
	var r Report
	decoder := json.NewDecoder(from)
	if err := decoder.Decode(&r); err != nil {
		return Report{}, fmt.Errorf("this is no report: %w", err)
	}
	if r.Format != Format {
		return Report{}, fmt.Errorf("the report has the format %q, this program reads %q", r.Format, Format)
	}
	return r, nil
}
