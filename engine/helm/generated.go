package helm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// unrepeatable contains the template functions that return a different result each time.
var unrepeatable = []string{
	"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "uuidv4", "shuffle", "now", "ago",
	"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert",
	"genSignedCertWithKey", "bcrypt", "htpasswd", "encryptAES",
}

// generated stores the results of unrepeatable functions in a release, so that they return the same results again. A call is
// identified by its function, its arguments and the number of equal calls before it.
type generated struct {
	data map[string][]byte
	seen map[string]int
}

func newGenerated(data map[string][]byte) *generated {
	return &generated{data: data, seen: map[string]int{}}
}

// trial returns a generated that ends the rendering at the first call of a function. It shows whether there is such a call.
func trial() *generated { return newGenerated(nil) }

// used reports whether a function was called.
func (g *generated) used() bool { return len(g.seen) > 0 }

// functions returns the unrepeatable functions with stored results.
func (g *generated) functions() template.FuncMap {
	all, own := sprig.TxtFuncMap(), template.FuncMap{}
	for _, name := range unrepeatable {
		function := reflect.ValueOf(all[name])
		own[name] = reflect.MakeFunc(function.Type(), func(arguments []reflect.Value) []reflect.Value {
			return g.call(name, function, arguments)
		}).Interface()
	}
	return own
}

// call returns the result of an earlier call, or else calls the function. The result of a failed call is not stored.
func (g *generated) call(name string, function reflect.Value, arguments []reflect.Value) []reflect.Value {
	key := g.key(name, arguments)
	if g.data == nil {
		panic("a trial ends here")
	}
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

// key returns a key for a call. It is a valid key of a Secret, and does not reveal the arguments, which may be passwords.
func (g *generated) key(name string, arguments []reflect.Value) string {
	var text strings.Builder
	for _, argument := range arguments {
		fmt.Fprintf(&text, "%#v\x00", argument.Interface())
	}
	sum := sha256.Sum256([]byte(text.String()))
	call := name + "-" + hex.EncodeToString(sum[:8])
	g.seen[call]++
	return fmt.Sprintf("%s-%d", call, g.seen[call])
}
