package up

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/tools/project"
)

// Errors of API servers about a field that a schema does not have: from strict validation when decoding, and from server-side
// apply.
var (
	strictField = regexp.MustCompile(`unknown field "([^"]+)"`)
	applyField  = regexp.MustCompile(`(\.[^\s:]+): field not declared in schema`)
)

// placed adds the place in a manifest to an error of the API server: each field that the error names is reported with its own
// line and the server's message.
func placed(object project.Object, err error) error {
	var problems []error
	for _, found := range append(strictField.FindAllStringSubmatch(err.Error(), -1), applyField.FindAllStringSubmatch(err.Error(), -1)...) {
		field := strings.TrimPrefix(found[1], ".")
		problems = append(problems, fmt.Errorf("%s: unknown field %q", object.PlaceOf(field), field))
	}
	if len(problems) == 0 {
		problems = causes(object, err)
	}
	if len(problems) == 0 {
		return fmt.Errorf("%s: %w", object.Place(), err)
	}
	return errors.Join(problems...)
}

// causes returns errors for the fields that failed validation.
func causes(object project.Object, err error) []error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var problems []error
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == "" || cause.Type == metav1.CauseType("FieldManagerConflict") {
			continue
		}
		problems = append(problems, fmt.Errorf("%s: %s: %s", object.PlaceOf(writtenField(object, cause.Field)), cause.Field, cause.Message))
	}
	return problems
}

// oldFields maps fields of the API server's internal form of a CustomResourceDefinition to the fields of version v1, in which
// all definitions are written. Version v1 has these fields in each version.
var oldFields = strings.NewReplacer("spec.validation.", "spec.versions[0].schema.", "spec.additionalPrinterColumns", "spec.versions[0].additionalPrinterColumns", "spec.subresources", "spec.versions[0].subresources")

// writtenField returns the field as it is written in the manifest.
func writtenField(object project.Object, field string) string {
	if object.GetKind() != "CustomResourceDefinition" || strings.HasPrefix(field, "spec.versions") {
		return field
	}
	return oldFields.Replace(field)
}
