package generate

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// remark is one error of a generator or of the compiler.
type remark struct {
	file, text string
	line, col  int
	field      string // the field that it is about, TYPE.FIELD
}

func (r remark) String() string {
	if r.line == 0 {
		return r.file + ": " + r.text
	}
	return fmt.Sprintf("%s:%d:%d: %s", r.file, r.line, r.col, r.text)
}

var placed = regexp.MustCompile(`^(.+?):(\d+)(?::(\d+))?$`)

func asRemark(dir string, problem packages.Error) remark {
	place := near(dir, problem.Pos)
	found := placed.FindStringSubmatch(place)
	if found == nil {
		return remark{file: strings.TrimSuffix(place, ":-"), text: problem.Msg}
	}
	line, _ := strconv.Atoi(found[2])
	col, _ := strconv.Atoi(cmp.Or(found[3], "1"))
	return remark{file: found[1], line: line, col: col, text: problem.Msg}
}

// explain converts remarks into errors that a user can fix: it leaves out consequences of another error in the same line, and names markers
// and their arguments.
func explain(all []remark, registry *markers.Registry) []remark {
	slices.SortStableFunc(all, func(a, b remark) int {
		return cmp.Or(strings.Compare(a.file, b.file), a.line-b.line, weight(a)-weight(b))
	})
	var told []remark
	for _, one := range all {
		if last := len(told) - 1; last >= 0 && one.line > 0 && told[last].file == one.file && told[last].line == one.line {
			continue
		}
		if one.line == 0 && slices.Contains(told, one) {
			continue
		}
		told = append(told, one)
	}
	for i := range told {
		told[i].text = reworded(told[i].text)
		if told[i].field != "" {
			told[i].text = told[i].field + ": " + told[i].text
		}
		told[i].nameMarker(registry)
	}
	return told
}

// weight is greater for remarks that are more likely a consequence of another one.
func weight(r remark) int {
	switch {
	case strings.Contains(r.text, `found type ""`):
		return 3
	case strings.HasPrefix(r.text, "invalid field type"):
		return 2
	case strings.HasPrefix(r.text, "extra arguments"), strings.HasPrefix(r.text, "unknown type"):
		return 1
	}
	return 0
}

// words maps the messages of generators to better ones.
var words = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(unsupported + `ChanType$`), "a channel " + inexpressible},
	{regexp.MustCompile(unsupported + `FuncType$`), "a function " + inexpressible},
	{regexp.MustCompile(unsupported + `InterfaceType$`), "an interface " + anything},
	{regexp.MustCompile(`^(cannot generate schema for [\w.]+; )?interface type is not supported.*$`), "an interface " + anything},
	{regexp.MustCompile(unsupported + `Index(List)?Expr$`), "a generic type cannot be expressed in a schema: declare a type of its own with what it stands for here, such as `type Names struct { … }`"},
	{regexp.MustCompile(unsupported + `StructType$`), "a struct without a name cannot be the value of a map in a schema: declare a type for it"},
	{regexp.MustCompile(`^unsupported type (\S+)$`), "${1} " + inexpressible},
	{regexp.MustCompile(`^(map keys must be strings .*)$`), "${1}: want map[string]…, as the names of fields in JSON are"},
	{regexp.MustCompile(`^found float, .*$`), "a float is read in different ways by different clients: use an integer, a string or resource.Quantity, or allow it (--allow-floats, in a kubebuilder project crd:allowDangerousTypes=true)"},
	{regexp.MustCompile(` \(at <input>:\d+:\d+\)`), ""},
}

// unsupported is the beginning of messages about unsupported types, alone or in a map.
const unsupported = `^(?:unsupported AST kind|not a supported map value type:) \*ast\.`

// anything is the message for types that can hold any value.
const anything = "cannot be expressed in a schema: want a type that says what it holds, or apiextensionsv1.JSON for any value"

const inexpressible = "cannot be expressed in a schema: want a string, a number, a bool, a struct, or a slice, map or pointer of such; or keep the field out of JSON with `json:\"-\"`"

func reworded(text string) string {
	for _, word := range words {
		text = word.pattern.ReplaceAllString(text, word.instead)
	}
	return text
}

// nameMarker adds the marker at the place before the message, and its usage after it.
func (r *remark) nameMarker(registry *markers.Registry) {
	content, err := os.ReadFile(r.file)
	lines := strings.Split(string(content), "\n")
	if err != nil || r.line < 1 || r.line > len(lines) || registry == nil {
		return
	}
	comment, is := strings.CutPrefix(strings.TrimSpace(lines[r.line-1]), "//")
	marker := strings.TrimSpace(comment)
	if !is || !strings.HasPrefix(marker, "+") {
		return
	}
	for _, target := range []markers.TargetType{markers.DescribesField, markers.DescribesType, markers.DescribesPackage} {
		if definition := registry.Lookup(marker, target); definition != nil {
			r.text = fmt.Sprintf("marker +%s: %s: want %s", definition.Name, r.text, usage(definition))
			return
		}
	}
}

// usage returns the syntax of a marker.
func usage(definition *markers.Definition) string {
	if definition.AnonymousField() {
		return "+" + definition.Name + "=" + kindOf(definition.Fields[""])
	}
	var needed, optional []string
	for name, argument := range definition.Fields {
		text := name + "=" + kindOf(argument)
		if argument.Optional || argument.Pointer {
			optional = append(optional, text)
			continue
		}
		needed = append(needed, text)
	}
	slices.Sort(needed)
	slices.Sort(optional)
	text := "+" + definition.Name
	if len(needed) > 0 {
		text += ":" + strings.Join(needed, ",")
	}
	if len(optional) > 0 {
		text += ", and if need be " + strings.Join(optional, ", ")
	}
	return text
}

func kindOf(argument markers.Argument) string {
	switch argument.Type {
	case markers.IntType:
		return "a whole number"
	case markers.NumberType:
		return "a number"
	case markers.StringType:
		return "a string"
	case markers.BoolType:
		return "true or false"
	case markers.SliceType:
		return "a list such as {a,b}"
	}
	return "a value"
}
