package catalog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// schemas are those of the objects that belong to a package.
var schemas = []string{packageSchema, channelSchema, bundleSchema, deprecationSchema}

// MaxFile is the size from which a file is not read, in bytes.
const MaxFile = maxFile

// maxValue is the size of a JSON value from which the rest of a file is not read, in bytes. Smaller values that are too large are skipped.
const maxValue = 2 * maxDocument

// Located is an object of a catalog, before it is decoded.
type Located struct {
	At rule.Place
	// Schema, Package and Name are fields of the object. The package of an object of schema olm.package is its name.
	Schema, Package, Name string
	// Raw is the object as JSON.
	Raw json.RawMessage
	// From and To are the offsets of the object in its file: of the JSON value, or of the YAML document with its separator.
	From, To int64
}

// Visitor gets the objects of a catalog one by one.
type Visitor struct {
	// File gets each file before its objects. Its error ends the walk.
	File func(path string) error
	// Object gets each object with a schema, in the order of the files. Its error ends the walk. If it is nil, the files are not read.
	Object func(Located) error
	// Problem gets what could not be read.
	Problem func(Problem)
}

// Stream reads the catalog in a directory and below it, or in a file, without keeping it in memory: at most one object at a time. Errors
// are handled as by Read, to which Stream with New is equivalent.
func Stream(source string, v Visitor) error {
	info, err := os.Stat(source)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no directory or file %s; name a directory with a catalog", source)
	}
	if err != nil {
		return err
	}
	dir, name := source, ""
	if !info.IsDir() {
		// A file that the caller names may be a link, as all files are that Kubernetes mounts from a ConfigMap.
		if source, err = filepath.EvalSymlinks(source); err != nil {
			return err
		}
		dir, name = filepath.Split(source)
		dir = filepath.Clean(dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	r := &reader{dir: dir, files: root.FS(), catalog: &Catalog{}, packages: map[string]*Package{}, visitor: &v}
	if name != "" {
		return r.file(name)
	}
	if err := r.walk(); err != nil {
		return err
	}
	if r.read == 0 {
		return empty(source)
	}
	return nil
}

// New returns the catalog of objects. It does not check the packages: see Check.
func New(objects []Located, problems []Problem) *Catalog {
	r := &reader{catalog: &Catalog{}, packages: map[string]*Package{}}
	for _, one := range problems {
		r.problem(one.At, one.Package, "%s", one.Message)
	}
	for _, one := range objects {
		r.object(one.At, one.Raw)
	}
	r.finish()
	return r.catalog
}

// pass adds an object to the catalog, or passes it to the visitor. Both report the same mistakes.
func (r *reader) pass(one Located) error {
	if r.visitor == nil {
		r.object(one.At, one.Raw)
		return nil
	}
	var meta struct{ Schema, Package, Name string }
	if err := json.Unmarshal(one.Raw, &meta); err != nil {
		r.problem(one.At, meta.Package, "want an object with schema: %s", wrongType(err))
		return nil
	}
	one.Schema, one.Package, one.Name = meta.Schema, meta.Package, meta.Name
	if meta.Schema == packageSchema {
		one.Package = meta.Name
	}
	if meta.Schema == "" {
		r.problem(one.At, one.Package, "the object has no schema")
		return nil
	}
	if one.Package == "" && slices.Contains(schemas, one.Schema) {
		r.problem(one.At, "", "the object of schema %s names no package", meta.Schema)
		return nil
	}
	return r.visitor.Object(one)
}

// wrongType describes an error of decoding JSON without Go's types.
func wrongType(err error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case !ok:
		return err.Error()
	case wrong.Field == "":
		return "it is of type " + wrong.Value
	}
	return fmt.Sprintf("%s is of type %s", strings.ToLower(wrong.Field), wrong.Value)
}

// file reads the objects of a file. Not more than one of them is in memory.
func (r *reader) file(name string) error {
	if r.read++; r.read > maxFiles {
		return fmt.Errorf("%s has more than %d files", r.dir, maxFiles)
	}
	if v := r.visitor; v != nil && v.File != nil {
		if err := v.File(filepath.Join(r.dir, name)); err != nil {
			return err
		}
	}
	if v := r.visitor; v != nil && v.Object == nil {
		return nil
	}
	inJSON := path.Ext(name) == ".json"
	if !inJSON {
		if err := r.opened(name, func(content io.Reader) error {
			var first json.RawMessage
			inJSON = json.NewDecoder(&limited{from: content, left: maxValue}).Decode(&first) == nil && first[0] == '{'
			return nil
		}); err != nil {
			return err
		}
	}
	return r.opened(name, func(content io.Reader) error {
		if inJSON {
			return r.streamJSON(name, content)
		}
		return r.streamYAML(name, bufio.NewReaderSize(content, 64<<10))
	})
}

// opened calls read with the content of a file. A file that is too large is a problem.
func (r *reader) opened(name string, read func(io.Reader) error) error {
	file, err := r.files.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > maxFile {
		r.problem(r.place(name, 1), "", "the file has more than %d MiB", maxFile>>20)
		return nil
	}
	return read(io.LimitReader(file, maxFile)) // a file may grow meanwhile
}

// tooLarge is the problem of an object that is too large.
var tooLarge = fmt.Sprintf("the object has more than %d MiB: name its image, and leave out its manifests", maxDocument>>20)

// limited fails when left bytes were read.
type limited struct {
	from io.Reader
	left int
}

func (l *limited) Read(into []byte) (int, error) {
	if l.left <= 0 {
		return 0, errors.New(tooLarge)
	}
	n, err := l.from.Read(into)
	l.left -= n
	return n, err
}

// streamJSON reads a stream of JSON values. What follows a syntax error is not read.
func (r *reader) streamJSON(name string, content io.Reader) error {
	var recent bytes.Buffer // what was read since the end of the last value
	input := &limited{from: io.TeeReader(content, &recent), left: maxValue}
	decoder := json.NewDecoder(input)
	line, end := 1, int64(0)
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		begin := recent.Len() - len(bytes.TrimLeft(recent.Bytes(), " \t\r\n"))
		line += bytes.Count(recent.Next(begin), []byte("\n"))
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			r.problem(r.place(name, line), "", "not valid JSON: %v; the rest of the file is not read", err)
			return nil
		}
		one := Located{At: r.place(name, line), Raw: raw, From: end + int64(begin), To: decoder.InputOffset()}
		switch {
		case len(raw) > maxDocument:
			r.problem(one.At, "", "%s", tooLarge)
		case nesting(raw) > maxDepth:
			r.problem(one.At, "", "more than %d levels of nesting", maxDepth)
		default:
			if err := r.pass(one); err != nil {
				return err
			}
		}
		line += bytes.Count(recent.Next(int(one.To-one.From)), []byte("\n"))
		end, input.left = one.To, maxValue
	}
}

// streamYAML reads a stream of YAML documents. A document with a syntax error does not affect the others.
func (r *reader) streamYAML(name string, content *bufio.Reader) error {
	d := document{name: name, line: 1}
	begins := true // of a line
	for {
		text, err := content.ReadSlice('\n')
		if begins && d.size() > 0 && bytes.HasPrefix(text, separator[1:]) {
			if err := r.ended(&d); err != nil {
				return err
			}
		}
		d.add(text)
		switch {
		case errors.Is(err, io.EOF):
			return r.ended(&d)
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
		begins = err == nil
	}
}

// document is a YAML document that is being read.
type document struct {
	name string
	text bytes.Buffer
	// line is where the document begins, and lines is how many it has.
	line, lines int
	from, to    int64
}

func (d *document) size() int64 { return d.to - d.from }

// add adds a line, or a part of a long one. Not more is kept than it takes to see that the document is too large.
func (d *document) add(text []byte) {
	d.to += int64(len(text))
	d.lines += bytes.Count(text, []byte("\n"))
	if d.text.Len() <= maxDocument {
		d.text.Write(text)
	}
}

// ended passes on the object of a document, and begins the next one.
func (r *reader) ended(d *document) error {
	var failed error
	if d.size() > 0 {
		if at, raw := r.document(d.name, d.line, d.text.Bytes()); raw != nil {
			failed = r.pass(Located{At: at, Raw: raw, From: d.from, To: d.to})
		}
	}
	d.from, d.line, d.lines = d.to, d.line+d.lines, 0
	d.text.Reset()
	return failed
}

// Place returns where the bundle is defined.
func (b *Bundle) Place() rule.Place { return b.at }

// Encode returns the JSON form of an object with a schema, or of a part of an object, in which ranges such as ">=1.0.0" stay readable.
func Encode(schema string, value any) (json.RawMessage, error) {
	if schema == "" {
		return encode(value)
	}
	return encode(schemed{schema, value})
}
