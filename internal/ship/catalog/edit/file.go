package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/ship/catalog"
)

// file is a file of the catalog with its changes.
type file struct {
	content []byte
	inJSON  bool
	edits   []edit
	added   bytes.Buffer
}

// edit is a part of a file that gets another text.
type edit struct {
	from, to int64
	text     []byte
}

func (e *editor) open(path string) (*file, error) {
	if f := e.files[path]; f != nil {
		return f, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var first json.RawMessage
	f := &file{content: content}
	f.inJSON = filepath.Ext(path) == ".json" || json.NewDecoder(bytes.NewReader(content)).Decode(&first) == nil && first[0] == '{'
	e.files[path] = f
	return f, nil
}

// bytes returns the changed content.
func (f *file) bytes() []byte {
	slices.SortFunc(f.edits, func(a, b edit) int { return int(a.from - b.from) })
	var out bytes.Buffer
	done := int64(0)
	for _, one := range f.edits {
		out.Write(f.content[done:one.from])
		out.Write(one.text)
		done = one.to
	}
	out.Write(f.content[done:])
	if f.added.Len() > 0 && !bytes.HasSuffix(out.Bytes(), []byte("\n")) && out.Len() > 0 {
		out.WriteByte('\n')
	}
	out.Write(f.added.Bytes())
	return out.Bytes()
}

// append adds an object to the end of the file.
func (f *file) append(raw json.RawMessage) error {
	if f.inJSON {
		if err := json.Indent(&f.added, raw, "", "    "); err != nil {
			return err
		}
		return f.added.WriteByte('\n')
	}
	content, err := yaml.JSONToYAML(raw)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(&f.added, "---\n%s", content)
	return err
}

// addEntry adds an entry to a channel that is in the file, or that was added to it before.
func (f *file) addEntry(at *catalog.Located, entry catalog.Entry) error {
	if at.From < 0 {
		return errors.New("add the bundles of a new channel one by one")
	}
	i := slices.IndexFunc(f.edits, func(one edit) bool { return one.from == at.From })
	if i < 0 {
		i = len(f.edits)
		f.edits = append(f.edits, edit{at.From, at.To, f.content[at.From:at.To]})
	}
	var err error
	add := entryInYAML
	if f.inJSON {
		add = entryInJSON
	}
	if f.edits[i].text, err = add(f.edits[i].text, entry); err != nil {
		return fmt.Errorf("%s: %w", at.At, err)
	}
	if f.inJSON {
		at.Raw = f.edits[i].text
		return nil
	}
	at.Raw, err = yaml.YAMLToJSON(f.edits[i].text)
	return err
}

// entryInYAML adds an entry to a YAML document, with its comments and in its order.
func entryInYAML(document []byte, entry catalog.Entry) ([]byte, error) {
	var node, added yamlv3.Node
	if err := yamlv3.Unmarshal(document, &node); err != nil {
		return nil, err
	}
	raw, err := yaml.Marshal(entry)
	if err != nil {
		return nil, err
	}
	if err := yamlv3.Unmarshal(raw, &added); err != nil {
		return nil, err
	}
	list := field(node.Content[0], "entries")
	if list == nil || list.Kind != yamlv3.SequenceNode {
		return nil, errors.New("the channel has no entries")
	}
	one := added.Content[0]
	if n := len(list.Content); n > 0 {
		one.Style = list.Content[n-1].Style
	}
	list.Content = append(list.Content, one)
	var out bytes.Buffer
	if bytes.HasPrefix(document, []byte("---")) {
		out.WriteString("---\n")
	}
	encoder := yamlv3.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&node); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

func field(object *yamlv3.Node, name string) *yamlv3.Node {
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value == name {
			return object.Content[i+1]
		}
	}
	return nil
}

// entryInJSON adds an entry to a JSON object. The text of the other entries and fields stays.
func entryInJSON(object []byte, entry catalog.Entry) ([]byte, error) {
	var channel struct {
		Entries json.RawMessage `json:"entries"`
	}
	if err := json.Unmarshal(object, &channel); err != nil {
		return nil, err
	}
	begin := bytes.Index(object, channel.Entries)
	end := begin + bytes.LastIndexByte(channel.Entries, ']')
	if len(channel.Entries) == 0 || channel.Entries[0] != '[' || begin < 0 {
		return nil, errors.New("the channel has no entries")
	}
	raw, err := catalog.Encode("", entry)
	if err != nil {
		return nil, err
	}
	before := bytes.TrimRight(object[:end], " \t\r\n")
	space := object[len(before):end]
	separator := ","
	if bytes.HasSuffix(before, []byte("[")) {
		separator = ""
	}
	indent := "\n"
	if i := bytes.LastIndexByte(space, '\n'); i >= 0 {
		indent = "\n" + string(space[i+1:]) + "    "
	} else if len(space) == 0 {
		indent = " "
	}
	return slices.Concat(before, []byte(separator+indent), raw, space, object[end:]), nil
}
