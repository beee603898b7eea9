package reconcile

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/internal/runtime/author"
)

func TestWorkNeedsAJournal(t *testing.T) {
	t.Parallel()
	works := author.Roles[*corev1.Pod]{RunWorkflow: func(context.Context, *corev1.Pod, *durable.Run) error { return nil }}
	err := checkWorker(works, &corev1.Pod{})
	if err == nil || !strings.Contains(err.Error(), "*v1.Pod: Status needs the field\n\tJournal *journal.Journal") {
		t.Errorf("the error is %v", err)
	}
}
