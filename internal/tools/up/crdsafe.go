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
		return fmt.Errorf("check what changed CRDs do to stored objects: %w; --unsafe-crds skips this check", err)
	}
	if report.Safe() {
		return nil
	}
	return fmt.Errorf("the CRDs are not applied, because they would break stored objects; fix the CRDs, migrate the objects first, or accept data loss with --unsafe-crds\n%s", strings.TrimRight(report.String(), "\n"))
}
