package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// Formats of catalogs.
const (
	YAML = "yaml"
	JSON = "json"
)

// Write writes the catalog in a format. Read reads the same again.
func (c *Catalog) Write(out io.Writer, format string) error {
	for _, p := range c.Packages {
		if err := p.Write(out, format); err != nil {
			return err
		}
	}
	for _, one := range c.Others {
		if err := writeObject(out, format, one.Raw); err != nil {
			return err
		}
	}
	return nil
}

// Write writes the objects of a package: itself, its channels, its bundles, and its deprecations.
func (p *Package) Write(out io.Writer, format string) error {
	var all []any
	all = append(all, schemed{packageSchema, p})
	for _, one := range p.Channels {
		all = append(all, schemed{channelSchema, one})
	}
	for _, one := range p.Bundles {
		all = append(all, schemed{bundleSchema, one})
	}
	if len(p.Deprecations) > 0 {
		all = append(all, schemed{deprecationSchema, map[string]any{"package": p.Name, "entries": p.Deprecations}})
	}
	for _, one := range all {
		raw, err := encode(one)
		if err != nil {
			return err
		}
		if err := writeObject(out, format, raw); err != nil {
			return err
		}
	}
	return nil
}

// schemed is an object with its schema, which comes first.
type schemed struct {
	schema string
	object any
}

// MarshalJSON implements json.Marshaler.
func (s schemed) MarshalJSON() ([]byte, error) {
	fields, err := encode(s.object)
	if err != nil {
		return nil, err
	}
	return append([]byte(fmt.Sprintf(`{"schema":%q,`, s.schema)), fields[1:]...), nil
}

// encode returns the JSON form of a value, in which ranges such as ">=1.0.0 <2.0.0" stay readable.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(out.Bytes()), err
}

func writeObject(out io.Writer, format string, raw json.RawMessage) error {
	var text bytes.Buffer
	if format == JSON {
		if err := json.Indent(&text, raw, "", "    "); err != nil {
			return err
		}
		text.WriteByte('\n')
	} else {
		content, err := yaml.JSONToYAML(raw)
		if err != nil {
			return err
		}
		text.WriteString("---\n")
		text.Write(content)
	}
	_, err := out.Write(text.Bytes())
	return err
}
