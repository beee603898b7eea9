package tenants_test

import (
	"fmt"
	"strings"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/plan"
)

// onAnnotations are attacks with annotations on the hostile tenant's own Box.
var onAnnotations = []attack{
	{"a record of external resources names the database of the victim", forgeRecord},
	{"a resolution of external resources names the database of the victim", forgeResolution},
	{"an annotation lists thousands of kinds", listUnknownKinds},
	{"an annotation lists kinds that exist", listKnownKinds},
	{"an annotation lists the namespace of the victim", listNamespace},
}

// annotate annotates the Box of the hostile tenant, and changes its spec so that the operator reconciles it.
func (w *world) annotate(name, value string) {
	w.Helper()
	w.change(w.a, w.a.box, func() {
		if w.a.box.Annotations == nil {
			w.a.box.Annotations = map[string]string{}
		}
		w.a.box.Annotations[name] = value
		w.a.box.Spec.Data["annotated"] = name
	})
}

func (w *world) victimsDatabase() string {
	w.Helper()
	ids := w.system.ids(sizeOfVictim)
	if len(ids) != 1 {
		w.Fatalf("the victim has the databases %q", ids)
	}
	return ids[0]
}

// forgeRecord names the victim's database under a declared name, to change and read it, and under another name, to
// delete it.
func forgeRecord(w *world) {
	for _, name := range []string{"main", "other"} {
		w.annotate(external.RecordAnnotation, fmt.Sprintf(`{"version":1,"owner":%q,"resources":{"database/%s":{"id":%q}}}`,
			w.a.box.UID, name, w.victimsDatabase()))
		w.isQuiet()
	}
	w.annotate(external.RecordAnnotation, fmt.Sprintf(`{"version":1,"owner":%q,"resources":{"database/main":{"id":%q}}}`,
		w.b.box.UID, w.victimsDatabase()))
}

// forgeResolution claims that a forged creation, whose result is unknown, resulted in the victim's database.
func forgeResolution(w *world) {
	w.change(w.a, w.a.box, func() {
		w.a.box.Annotations[external.RecordAnnotation] = fmt.Sprintf(
			`{"version":1,"owner":%q,"resources":{"database/main":{"token":"t","by":"another"}}}`, w.a.box.UID)
		w.a.box.Annotations[external.ResolvedAnnotation] = "database/main=" + w.victimsDatabase()
	})
}

func listUnknownKinds(w *world) {
	var names []string
	for i := range 5000 {
		names = append(names, fmt.Sprintf("Kind%d.group-%d.example.com", i, i))
	}
	w.annotate(plan.KindsAnnotation, strings.Join(names, ","))
	w.annotate("again", "1")
	w.isReady(w.a.box)
}

func listKnownKinds(w *world) {
	w.annotate(plan.KindsAnnotation, "Pod,Node,Namespace,Event,ServiceAccount,Endpoints,ClusterRole.rbac.authorization.k8s.io,"+
		"ReplicaSet.apps,Lease.coordination.k8s.io,Job.batch,CronJob.batch,PriorityClass.scheduling.k8s.io")
	w.isReady(w.a.box)
}

func listNamespace(w *world) {
	w.annotate(plan.NamespacesAnnotation, w.b.namespace)
	w.isReady(w.a.box)
	w.must(w.a.Delete(w.Context(), w.a.box))
}
