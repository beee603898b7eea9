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

// What API servers say of a field that a schema does not have: the decoder of strict
// validation, and that of server-side apply.
var (
	strictField = regexp.MustCompile(`unknown field "([^"]+)"`)
	applyField  = regexp.MustCompile(`(\.[^\s:]+): field not declared in schema`)
)

// placed tells where in a manifest is what the API server refuses: each field that it names
// with its own line, in the server's words.
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

// causes are the fields that failed validation.
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

// oldFields are where the API server's own form of a CustomResourceDefinition keeps what
// version v1, in which all of them are written, keeps with each version.
var oldFields = strings.NewReplacer("spec.validation.", "spec.versions[0].schema.", "spec.additionalPrinterColumns", "spec.versions[0].additionalPrinterColumns", "spec.subresources", "spec.versions[0].subresources")

// writtenField is the field as it is written in the manifest.
func writtenField(object project.Object, field string) string {
	if object.GetKind() != "CustomResourceDefinition" || strings.HasPrefix(field, "spec.versions") {
		return field
	}
	return oldFields.Replace(field)
}
