// Package yamlsafe writes JSON that readers of YAML understand. API servers read server-side apply patches as YAML, also those in JSON, and refuse
// some characters that JSON allows, or read them as line breaks.
package yamlsafe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// JSON returns JSON with escapes for the characters that YAML 1.1 does not allow in a text, or reads as line breaks (its sections 5.1 and 5.4).
// Content without such characters is returned as it is.
func JSON(content []byte) []byte {
	if bytes.IndexFunc(content, special) < 0 {
		return content
	}
	var out bytes.Buffer
	for len(content) > 0 {
		r, size := utf8.DecodeRune(content)
		if special(r) && size > 1 || r == 0x7f {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.Write(content[:size])
		}
		content = content[size:]
	}
	return out.Bytes()
}

// Manifest returns a manifest that may be JSON or YAML in a form that readers of YAML accept.
func Manifest(content []byte) []byte {
	if json.Valid(content) {
		return JSON(content)
	}
	return content
}

// special reports whether a character must be escaped. ASCII control characters are escaped in JSON anyway.
func special(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == '\ufffe' || r == '\uffff'
}
