package helm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// unrepeatable contains the template functions that return a different result each time.
var unrepeatable = []string{
	"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "uuidv4", "shuffle", "now", "ago",
	"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert",
	"genSignedCertWithKey", "bcrypt", "htpasswd", "encryptAES",
}

// generated stores the results of unrepeatable functions in a release, so that they return the same results again. A call is
// identified by its function, its arguments, the template file, and the number of equal calls before it in this file. Calls that are
// added to other files therefore do not change the identity of a call.
type generated struct {
	data  map[string][]byte
	calls int
	// files contains the keys of the template files of the chart. running contains the executions of files in progress; the innermost is
	// the last.
	files   map[string]bool
	running []execution
}

// execution is one execution of a template file.
type execution struct {
	file string
	seen map[string]int
}

func newGenerated(data map[string][]byte) *generated {
	return &generated{data: data, files: map[string]bool{}, running: []execution{{seen: map[string]int{}}}}
}

// trial returns a generated that ends the rendering at the first call of a function. It shows whether there is such a call.
func trial() *generated { return newGenerated(nil) }

// used reports whether a function was called.
func (g *generated) used() bool { return g.calls > 0 }

// functions returns the unrepeatable functions with stored results, and those whose results have the random order of a map.
func (g *generated) functions() template.FuncMap {
	all, own := sprig.TxtFuncMap(), template.FuncMap{enterFunction: g.enter, leaveFunction: g.leave, "keys": sortedKeys, "values": sortedValues}
	for _, name := range unrepeatable {
		function := reflect.ValueOf(all[name])
		own[name] = reflect.MakeFunc(function.Type(), func(arguments []reflect.Value) []reflect.Value {
			return g.call(name, function, arguments)
		}).Interface()
	}
	return own
}

// sortedKeys returns the keys of maps, those of each map in order.
func sortedKeys(all ...map[string]any) []string {
	found := []string{}
	for _, one := range all {
		found = append(found, slices.Sorted(maps.Keys(one))...)
	}
	return found
}

// sortedValues returns the values of a map, in the order of their keys.
func sortedValues(of map[string]any) []any {
	found := []any{}
	for _, key := range sortedKeys(of) {
		found = append(found, of[key])
	}
	return found
}

// call returns the result of an earlier call, or else calls the function. The result of a failed call is not stored.
func (g *generated) call(name string, function reflect.Value, arguments []reflect.Value) []reflect.Value {
	call := callOf(name, arguments)
	key := g.key(call)
	if g.data == nil {
		panic("a trial ends here")
	}
	g.adopt(call, key)
	results := make([]reflect.Value, function.Type().NumOut())
	for i := range results {
		results[i] = reflect.Zero(function.Type().Out(i))
	}
	if stored, ok := g.data[key]; ok {
		kept := reflect.New(function.Type().Out(0))
		if err := json.Unmarshal(stored, kept.Interface()); err == nil {
			results[0] = kept.Elem()
			return results
		}
	}
	results = function.Call(arguments)
	if len(results) > 1 && !results[1].IsNil() {
		return results
	}
	if stored, err := json.Marshal(results[0].Interface()); err == nil {
		g.data[key] = stored
	}
	return results
}

// callOf identifies a call by its function and its arguments, without revealing them: they may be passwords.
func callOf(name string, arguments []reflect.Value) string {
	var text strings.Builder
	for _, argument := range arguments {
		fmt.Fprintf(&text, "%#v\x00", argument.Interface())
	}
	return name + "-" + short(text.String())
}

func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// key returns a key for the next call in the current file. It is a valid key of a Secret.
func (g *generated) key(call string) string {
	g.calls++
	current := g.running[len(g.running)-1]
	current.seen[call]++
	return fmt.Sprintf("%s-%s-%d", call, current.file, current.seen[call])
}

// adopt takes over the stored result of an equal call in a template file that the chart no longer has: the file was renamed.
func (g *generated) adopt(call, key string) {
	if _, stored := g.data[key]; stored {
		return
	}
	for _, old := range slices.Sorted(maps.Keys(g.data)) {
		file, found := strings.CutPrefix(old, call+"-")
		if file, _, _ = strings.Cut(file, "-"); found && !g.files[file] {
			g.data[key] = g.data[old]
			delete(g.data, old)
			return
		}
	}
}

// Functions at the beginning and the end of each template file. They return nothing to print.
const (
	enterFunction = "operonEnterFile"
	leaveFunction = "operonLeaveFile"
)

// enter begins the execution of a file: by itself, or as a part of another one, for example for a checksum. Calls are counted anew, so
// that both have the same results.
func (g *generated) enter(file string) string {
	g.running = append(g.running, execution{file, map[string]int{}})
	return ""
}

func (g *generated) leave() string {
	g.running = g.running[:len(g.running)-1]
	return ""
}

// know registers the template files of a chart and of the charts in it, also of those that the values disable: what they have stored is for
// the time when they are enabled again.
func (g *generated) know(c *chart.Chart, at string) {
	for _, file := range c.Templates {
		g.files[short(path.Join(at, file.Name))] = true
	}
	for _, dependency := range c.Dependencies() {
		names := []string{dependency.Name()}
		for _, declared := range c.Metadata.Dependencies {
			if declared != nil && declared.Name == dependency.Name() && declared.Alias != "" {
				names = append(names, declared.Alias)
			}
		}
		for _, name := range names {
			g.know(dependency, path.Join(at, "charts", name))
		}
	}
}

// mark adds enter and leave to the template files of a chart and of the charts in it.
func (g *generated) mark(c *chart.Chart) {
	marked := make([]*common.File, len(c.Templates))
	for i, file := range c.Templates {
		key := short(path.Join(c.ChartFullPath(), file.Name))
		g.files[key] = true
		marked[i] = &common.File{
			Name: file.Name, ModTime: file.ModTime,
			Data: slices.Concat([]byte("{{ "+enterFunction+" \""+key+"\" }}"), file.Data, []byte("{{ "+leaveFunction+" }}")),
		}
	}
	c.Templates = marked
	for _, dependency := range c.Dependencies() {
		g.mark(dependency)
	}
}
