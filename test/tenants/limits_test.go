package tenants_test

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/local/localtest"
)

// onLimits are attacks with names, sizes and numbers.
var onLimits = []attack{
	{"names at the limits collide if they are cut", longNames},
	{"a Box has almost 1 MiB", largeBox},
	{"a Box has thousands of keys", manyKeys},
	{"an error message has hundreds of kilobytes", longMessage},
	{"objects with a child's label have thousands of keys", largePlanted},
	{"a dozen Boxes are created and deleted", manyBoxes},
	{"a Box changes in a loop", floodBox},
	{"a child is changed in a loop", floodChild},
	{"a child is deleted in a loop", deleteChild},
}

// longNames creates names that differ only in the last of 253 characters.
func longNames(w *world) {
	long := strings.Repeat("a", 252)
	for _, name := range []string{long + "1", long + "2", strings.Repeat("b", 63), strings.Repeat("b", 64)} {
		w.isReady(w.create(w.a, name, map[string]string{"text": name[len(name)-1:]}))
		data := &corev1.ConfigMap{}
		w.must(w.a.Get(w.Context(), client.ObjectKey{Namespace: w.a.namespace, Name: name}, data))
		if data.Data["text"] != name[len(name)-1:] {
			w.Errorf("the ConfigMap of %s contains %q", name, data.Data)
		}
	}
}

func largeBox(w *world) {
	w.isReady(w.create(w.a, "large", map[string]string{"text": strings.Repeat("x", 1000<<10)}))
}

// keys returns n entries, each of which server-side apply has to manage separately.
func keys(n int) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprintf("key-%05d", i)] = "value"
	}
	return all
}

func manyKeys(w *world) {
	w.isReady(w.create(w.a, "keys", keys(3000)))
}

// longMessage makes the operator's code fail with a message that is too long for a status.
func longMessage(w *world) {
	b := w.create(w.a, "bad", map[string]string{badField: strings.Repeat("x", 300<<10)})
	localtest.Eventually(w.T, "the error to be reported", func(ctx context.Context) error {
		if err := w.a.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		c := meta.FindStatusCondition(b.Status.Conditions, "Ready")
		if c == nil || c.Status != metav1.ConditionFalse || len(c.Message) > 5<<10 {
			return fmt.Errorf("%d conditions", len(b.Status.Conditions))
		}
		return nil
	})
	w.must(w.a.Delete(w.Context(), b)) // it would be retried forever, at growing intervals
}

func largePlanted(w *world) {
	for i := range 3 {
		planted := w.planted(fmt.Sprint("large-", i))
		planted.Data = keys(3000)
		w.must(w.a.Create(w.Context(), planted))
	}
}

func manyBoxes(w *world) {
	var boxes []*box.Box
	for i := range 12 {
		boxes = append(boxes, w.create(w.a, fmt.Sprint("many-", i), map[string]string{"text": "many"}))
	}
	for _, b := range boxes {
		w.isReady(b)
		w.must(w.a.Delete(w.Context(), b))
	}
}

// floodBox changes the spec as fast as the API server allows.
func floodBox(w *world) {
	for i := range floods {
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"data":{"text":"%d"}}}`, i))
		w.must(w.a.Patch(w.Context(), w.a.box, patch))
	}
	w.isReady(w.a.box)
}

// floodChild makes the operator revert changes of a child.
func floodChild(w *world) {
	data := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.a.namespace, Name: w.a.box.Name}}
	for i := range floods {
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"data":{"text":"hostile-%d"}}`, i))
		w.must(w.a.Patch(w.Context(), data, patch))
	}
}

func deleteChild(w *world) {
	for range floods / 4 {
		data := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.a.namespace, Name: w.a.box.Name}}
		if err := w.a.Delete(w.Context(), data); !apierrors.IsNotFound(err) {
			w.must(err)
		}
	}
}
