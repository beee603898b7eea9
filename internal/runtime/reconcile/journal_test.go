package reconcile

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/internal/runtime/author"
)

// podWorker works on a kind that has no place for a journal.
type podWorker struct{}

func (podWorker) Compose(context.Context, *corev1.Pod, *author.Composition) error { return nil }

func (podWorker) Work(context.Context, *corev1.Pod, *durable.Run) error { return nil }

func TestWorkNeedsAJournal(t *testing.T) {
	t.Parallel()
	err := checkWorker[*corev1.Pod](podWorker{}, &corev1.Pod{})
	if err == nil || !strings.Contains(err.Error(), "*v1.Pod: Status needs the field\n\tJournal *journal.Journal") {
		t.Errorf("the error is %v", err)
	}
}
