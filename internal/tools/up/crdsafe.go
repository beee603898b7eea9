package up

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/crdcompat"
	"github.com/operon-framework/operon/internal/tools/project"
)

// checkCRDs rejects changed definitions that break stored objects. It skips the samples that Run applied, because they are
// applied again.
func (s *session) checkCRDs(ctx context.Context, p *project.Project) error {
	if s.options.UnsafeCRDs {
		return nil
	}
	var definitions []*unstructured.Unstructured
	for _, definition := range p.CRDs {
		definitions = append(definitions, definition.Unstructured)
	}
	ours := func(object *unstructured.Unstructured) bool { return object.GetLabels()[Label] == p.Name }
	report, err := crdcompat.Check(ctx, s.target.config, ours, definitions...)
	if err != nil {
		return fmt.Errorf("see what changed definitions do to stored objects: %w; --unsafe-crds leaves that out", err)
	}
	if report.Safe() {
		return nil
	}
	return fmt.Errorf("definitions are not applied, as they would break stored objects; change them, move the objects first, or take the loss with --unsafe-crds\n%s", strings.TrimRight(report.String(), "\n"))
}
