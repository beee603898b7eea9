package operontest

import (
	"hash/fnv"
	"maps"
	"math"
	"math/rand"
	"regexp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/randfill"
)

// make generates an object of the version with which the trip begins. Each field is set with a probability of one half. The
// object matches the schema, if there is one, and has the form that Go encodes.
func (w *trip) make(random *rand.Rand) (map[string]any, error) {
	object := w.from.empty()
	filler(random).Fill(object)
	object.GetObjectKind().SetGroupVersionKind(w.from.GroupVersionKind)
	for _, adjust := range w.adjust {
		adjust(object)
	}
	fields, err := encode(object)
	if err != nil {
		return nil, err
	}
	if w.fromSchema != nil {
		fields = admitted(fields, w.fromSchema)
		fit(fields, w.fromSchema, random)
		fields = admitted(fields, w.fromSchema)
	}
	return fields, w.fits(fields)
}

// fits returns what is wrong with an object: it does not match its schema, or Go encodes it differently.
func (w *trip) fits(fields map[string]any) error {
	object := w.from.empty()
	if err := decode(fields, object); err != nil {
		return err
	}
	again, err := encode(object)
	if err != nil {
		return err
	}
	if err := sameAs(fields, admitted(again, w.fromSchema)); err != nil || w.fromSchema == nil {
		return err
	}
	return check(fields, w.fromSchema).ToAggregate()
}

// filler returns a filler of Go values. It sets only metadata that a user may set.
func filler(random *rand.Rand) *randfill.Filler {
	return randfill.New().RandSource(random).NilChance(.5).NumElements(1, 2).MaxDepth(12).Funcs(
		func(m *metav1.ObjectMeta, c randfill.Continue) {
			m.Name, m.Namespace = "one", "some"
			m.Labels, m.Annotations = someOf(c), someOf(c)
		},
		func(m *metav1.TypeMeta, _ randfill.Continue) {},
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(int64(c.Uint32()), 0) },
		func(t *metav1.MicroTime, c randfill.Continue) {
			*t = metav1.NewMicroTime(metav1.Unix(int64(c.Uint32()), 0).Time)
		},
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63n(1000), resource.DecimalSI)
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(c.Int31n(100))
			if c.Bool() {
				*v = intstr.FromString(c.String(4))
			}
		},
		func(v *runtime.RawExtension, c randfill.Continue) { v.Raw = []byte(`{"any":1}`) },
		func(v *apiextensionsv1.JSON, c randfill.Continue) { v.Raw = []byte(`{"any":1}`) },
		func(n *int64, c randfill.Continue) { *n = int64(c.Int31()) },
		func(n *int, c randfill.Continue) { *n = int(c.Int31()) },
		func(n *float64, c randfill.Continue) { *n = float64(c.Int31n(1<<16)) / 4 },
	)
}

func someOf(c randfill.Continue) map[string]string {
	if c.Bool() {
		return nil
	}
	return map[string]string{"example.com/key": c.String(4)}
}

// fit returns a value that the schema allows, as far as the schema describes it.
func fit(value any, of *spec.Schema, random *rand.Rand) any {
	if len(of.Enum) > 0 && !slices.Contains(of.Enum, value) {
		return of.Enum[random.Intn(len(of.Enum))]
	}
	switch value := value.(type) {
	case map[string]any:
		return fitMap(value, of, random)
	case []any:
		return fitList(value, of, random)
	case string:
		return fitString(value, of)
	case int64:
		return int64(clamp(float64(value), of))
	case float64:
		return clamp(value, of)
	}
	return value
}

func fitMap(value map[string]any, of *spec.Schema, random *rand.Rand) any {
	for _, name := range slices.Sorted(maps.Keys(value)) {
		property := propertyOf(of, name)
		if property == nil {
			continue
		}
		if value[name] = fit(value[name], property, random); !matches(value[name], property) && !slices.Contains(of.Required, name) {
			delete(value, name)
		}
	}
	for _, name := range of.Required {
		if _, there := value[name]; there || propertyOf(of, name) == nil {
			continue
		}
		value[name] = fit(zero(propertyOf(of, name)), propertyOf(of, name), random)
	}
	return value
}

func fitList(value []any, of *spec.Schema, random *rand.Rand) any {
	if of.MaxItems != nil && int64(len(value)) > *of.MaxItems {
		value = value[:*of.MaxItems]
	}
	for i := range value {
		if of.Items != nil && of.Items.Schema != nil {
			value[i] = fit(value[i], of.Items.Schema, random)
		}
	}
	return value
}

func fitString(value string, of *spec.Schema) any {
	letters := []rune(value)
	if of.MaxLength != nil && int64(len(letters)) > *of.MaxLength {
		letters = letters[:*of.MaxLength]
	}
	for of.MinLength != nil && int64(len(letters)) < *of.MinLength {
		letters = append(letters, 'a')
	}
	return string(letters)
}

// clamp moves a number into its bounds. It uses the whole range, not only the edges.
func clamp(n float64, of *spec.Schema) float64 {
	low, high := of.Minimum, of.Maximum
	switch {
	case low != nil && high != nil && (n < *low || n > *high):
		return *low + float64(int64(math.Abs(n))%int64(*high-*low+1))
	case low != nil && n < *low:
		return *low
	case high != nil && n > *high:
		return *high
	}
	return n
}

// matches reports whether a text matches the pattern of its schema.
func matches(value any, of *spec.Schema) bool {
	text, ok := value.(string)
	if !ok || of.Pattern == "" {
		return true
	}
	pattern, err := regexp.Compile(of.Pattern)
	return err == nil && pattern.MatchString(text)
}

// zero returns the smallest value of a schema's type.
func zero(of *spec.Schema) any {
	switch {
	case of.Default != nil:
		return runtime.DeepCopyJSONValue(of.Default)
	case of.Type.Contains("object"):
		return map[string]any{}
	case of.Type.Contains("array"):
		return []any{}
	case of.Type.Contains("boolean"):
		return false
	case of.Type.Contains("integer"):
		return int64(0)
	case of.Type.Contains("number"):
		return float64(0)
	}
	return ""
}

// dropUnknown removes the fields that a schema does not have.
func dropUnknown(value any, of *spec.Schema, root bool) {
	if of == nil || holdsAnything(of) {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			if root && (name == "apiVersion" || name == "kind" || name == "metadata") {
				continue
			}
			if propertyOf(of, name) == nil {
				delete(value, name)
				continue
			}
			dropUnknown(inner, propertyOf(of, name), false)
		}
	case []any:
		for _, element := range value {
			if of.Items != nil {
				dropUnknown(element, of.Items.Schema, false)
			}
		}
	}
}

// bytesSource returns the bytes that a fuzzer chose, and after their end, numbers that are derived from them.
type bytesSource struct {
	data []byte
	rest rand.Source
}

func sourceOf(data []byte) rand.Source {
	sum := fnv.New64a()
	sum.Write(data)
	return &bytesSource{data, rand.NewSource(int64(sum.Sum64()))}
}

// Int63 implements rand.Source. A byte of the fuzzer determines the upper bits, which determine most random choices.
func (s *bytesSource) Int63() int64 {
	if len(s.data) == 0 {
		return s.rest.Int63()
	}
	next := s.data[0]
	s.data = s.data[1:]
	return int64(next)<<55 | s.rest.Int63()>>8
}

// Seed implements rand.Source.
func (s *bytesSource) Seed(int64) {}
