package ansible

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible/internal/snakecase"
)

// input is what a run is given.
type input struct {
	source
	vars map[string]any
	// digest identifies the files, the variables and the spec.
	digest string
	// deleting means that it is for the run of the finalizer.
	deleting bool
}

// formatVersion is a part of each digest. A change of it repeats all runs.
const formatVersion = "3"

// input returns what a run for an object is given, and with deleting what the run of the finalizer is given.
func (t *entry) input(object *engine.Object, deleting bool) (*input, error) {
	spec, err := specOf(object)
	if err != nil {
		return nil, err
	}
	in := &input{source: t.main, vars: map[string]any{}, deleting: deleting}
	parameters := any(spec)
	if t.snakeCase {
		parameters = snakecase.Keys(spec)
	}
	maps.Copy(in.vars, parameters.(map[string]any))
	if found := removeReserved(in.vars); len(found) > 0 && !deleting { // a wrong spec must not prevent the deletion
		return nil, fmt.Errorf("the spec sets the variables %s, which control Ansible itself: choose other names for these fields", strings.Join(found, ", "))
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	prefix := t.variablePrefix()
	in.vars["ansible_operator_meta"] = map[string]any{"name": object.Name, "namespace": object.Namespace}
	in.vars[prefix], in.vars[prefix+"_spec"] = content, spec
	if t.unsafe {
		in.vars = unsafe(in.vars).(map[string]any)
	}
	maps.Copy(in.vars, t.vars)
	sum := []any{formatVersion, t.content.Digest, t.main.name(t.dir), t.snakeCase, t.unsafe, t.settings, spec, t.vars}
	if t.annotations {
		sum = append(sum, object.Annotations)
	}
	if deleting {
		in.source = t.finalizer.source
		maps.Copy(in.vars, t.finalizer.vars)
		sum = append(sum, "deleting", in.source.name(t.dir), t.finalizer.vars)
	}
	encoded, err := json.Marshal(sum)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(encoded)
	in.digest = hex.EncodeToString(digest[:16])
	return in, nil
}

// removeReserved removes the variables by which Ansible chooses the commands that it runs, such as ansible_become_exe, and __ansible_unsafe, by
// which its JSON decoder replaces all variables. It returns their names in order. A spec must not set them, because the variables of a run take
// precedence over all others.
func removeReserved(vars map[string]any) []string {
	var found []string
	for name := range vars {
		if strings.HasPrefix(strings.TrimLeft(name, "_"), "ansible_") {
			found = append(found, name)
			delete(vars, name)
		}
	}
	slices.Sort(found)
	return found
}

// setLive replaces the metadata and the status in the variable that holds the whole object. The object that Compose is given may be older than the
// record of the run, and has only those fields of the status that the engine writes.
func (t *entry) setLive(in *input, live map[string]any) {
	if t.unsafe {
		live = unsafe(live).(map[string]any)
	}
	whole := in.vars[t.variablePrefix()].(map[string]any)
	whole["metadata"], whole["status"] = live["metadata"], live["status"]
}

// specOf returns the spec of an object. An object without a spec has an empty one.
func specOf(object *engine.Object) (map[string]any, error) {
	spec := map[string]any{}
	if len(object.Spec.Raw) == 0 {
		return spec, nil
	}
	if err := utiljson.Unmarshal(object.Spec.Raw, &spec); err != nil { // it keeps integers
		return nil, fmt.Errorf("spec: want an object: %w", err)
	}
	return spec, nil
}

// variablePrefix returns the name of the variable that holds the whole object.
func (t *entry) variablePrefix() string {
	replaced := strings.NewReplacer(".", "_", "-", "_").Replace(t.watch.Kind.Group)
	return "_" + replaced + "_" + strings.ToLower(t.watch.Kind.Kind)
}

// unsafe marks all strings so that Ansible does not evaluate them as templates.
func unsafe(value any) any {
	switch value := value.(type) {
	case string:
		return map[string]any{"__ansible_unsafe": value}
	case map[string]any:
		marked := make(map[string]any, len(value))
		for key, item := range value {
			marked[key] = unsafe(item)
		}
		return marked
	case []any:
		marked := make([]any, len(value))
		for i, item := range value {
			marked[i] = unsafe(item)
		}
		return marked
	}
	return value
}
