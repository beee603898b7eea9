package registry_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/operon-framework/operon/internal/ship/catalog/registry"
)

// Clients that were generated from the published definition can read catalogs: names, numbers and types of all methods and fields are the same.
// The file lists those of pkg/api/registry.proto of operator-framework/operator-registry: at 748192e3, at 389fe327, and since then Dependency.type
// and deprecations.
func TestPublishedDefinition(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/published.txt")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			want = append(want, line)
		}
	}
	file := registry.File_registry_proto
	var got []string
	service := file.Services().ByName("Registry")
	for i := range service.Methods().Len() {
		method := service.Methods().Get(i)
		got = append(got, fmt.Sprintf("%s.%s %s %s%s", service.FullName(), method.Name(), method.Input().Name(), stream(method), method.Output().Name()))
	}
	for i := range file.Messages().Len() {
		message := file.Messages().Get(i)
		got = append(got, string(message.FullName()))
		for j := range message.Fields().Len() {
			field := message.Fields().Get(j)
			got = append(got, fmt.Sprintf("%s.%s %d %s %s", message.FullName(), field.Name(), field.Number(), field.Cardinality(), typeOf(field)))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("published, and different here: %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("here, and not published: %s", line)
		}
	}
}

func stream(method protoreflect.MethodDescriptor) string {
	if method.IsStreamingServer() {
		return "stream "
	}
	return ""
}

func typeOf(field protoreflect.FieldDescriptor) string {
	if field.Message() != nil {
		return string(field.Message().Name())
	}
	return field.Kind().String()
}
