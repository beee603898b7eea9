package helm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hook returns a template of a Job that is a hook.
func hook(name, events, policies string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-%s
  annotations:
    helm.sh/hook: %s
    helm.sh/hook-delete-policy: %s
spec:
  backoffLimit: 0
  template:
    metadata:
      annotations: {{ .Values.pod | default dict | toJson }}
    spec:
      restartPolicy: Never
      containers:
      - name: job
        image: job
        args: [{{ .Values.color }}]
`, name, events, policies)
}

// jobUID waits for a Job and returns its UID.
func (s *shop) jobUID(name string, complete bool) string {
	s.Helper()
	job := &batchv1.Job{ObjectMeta: s.Named(name)}
	s.Eventually("the Job "+name, func(ctx context.Context) error {
		if err := s.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return err
		}
		if complete && job.Status.CompletionTime == nil {
			return fmt.Errorf("it is not complete: %+v", job.Status)
		}
		return nil
	})
	return string(job.UID)
}

// A hook before the objects delays them. It runs once for each revision, even if the operator is restarted.
func TestHooksRunOnceForEachRevision(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Write(template("before.yaml"), hook("before", "pre-install,pre-upgrade", "before-hook-creation"))
	s.Write(template("after.yaml"), hook("after", "post-install", "hook-succeeded"))
	s.Add("one", nil)
	seen, stop := s.Start()
	first := s.jobUID("one-before", true)
	s.AwaitReady("one")
	s.EventuallyGone(&batchv1.Job{ObjectMeta: s.Named("one-after")})
	s.AwaitReady("one")
	s.Quiet(seen)
	order := seen.Writes()
	if before, object, after := place(order, "/jobs"), place(order, "configmaps/one?"), last(order, "POST", "/jobs"); before > object || object > after {
		t.Errorf("the writes are %s: want the first Job before the objects of the chart, and the second after them", strings.Join(order, "\n"))
	}
	stop()

	again, _ := s.Start()
	s.Quiet(again)
	if writes := again.Writes(); len(writes) > 0 {
		t.Errorf("the operator started again and wrote %q", writes)
	}
	if uid := s.jobUID("one-before", true); uid != first {
		t.Error("the hook ran again without a change")
	}
	s.SetSpec("one", `{"color":"blue"}`)
	s.EventuallyData("one", "color", "blue")
	s.AwaitReady("one")
	if uid := s.jobUID("one-before", true); uid == first {
		t.Error("the hook did not run for the next revision")
	}
	s.Must(s.Delete(t.Context(), s.New("one", nil)))
	s.EventuallyGone(&batchv1.Job{ObjectMeta: s.Named("one-before")})
}

// A hook can have several events. Hooks with one name have different ones, or are in different namespaces.
func TestHooksOfSeveralEvents(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	account := "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {{ .Release.Name }}-account\n" +
		"  annotations: {helm.sh/hook: 'pre-install,post-install,pre-delete,post-delete', helm.sh/hook-delete-policy: 'before-hook-creation,hook-succeeded'}\n"
	s.Write(template("account.yaml"), account)
	s.Write(template("both.yaml"), hook("both", "pre-install,post-install", "hook-succeeded"))
	kept := strings.Replace(hook("first", "pre-delete", "before-hook-creation"), "annotations:", "annotations:\n    helm.sh/resource-policy: keep", 1)
	s.Write(template("drop.yaml"), strings.Replace(kept, "image: job", "image: drop", 1))
	s.Write(template("first.yaml"), hook("first", "post-install", "before-hook-creation"))
	s.Add("one", nil)
	seen, _ := s.Start()
	s.AwaitReady("one")
	s.EventuallyGone(&batchv1.Job{ObjectMeta: s.Named("one-both")})
	s.EventuallyGone(&corev1.ServiceAccount{ObjectMeta: s.Named("one-account")})
	if jobs, accounts := seen.Created("/jobs"), seen.Created("/serviceaccounts"); jobs != 3 || accounts != 2 {
		t.Errorf("%d Jobs and %d ServiceAccounts were created, want 3 and 2", jobs, accounts)
	}
	s.Must(s.Delete(t.Context(), s.New("one", nil)))
	s.EventuallyGone(s.New("one", nil))
	job := &batchv1.Job{ObjectMeta: s.Named("one-first")}
	s.Must(s.Get(t.Context(), client.ObjectKeyFromObject(job), job))
	if image := job.Spec.Template.Spec.Containers[0].Image; image != "drop" {
		t.Errorf("the Job that is left has the image %s, want that of the hook of the deletion", image)
	}
}

// place returns the index of the first request that contains a text.
func place(requests []string, text string) int {
	for i, request := range requests {
		if strings.Contains(request, text) {
			return i
		}
	}
	return len(requests)
}

// last returns the index of the last request with a method that contains a text.
func last(requests []string, method, text string) int {
	for i := len(requests) - 1; i >= 0; i-- {
		if strings.HasPrefix(requests[i], method) && strings.Contains(requests[i], text) {
			return i
		}
	}
	return -1
}

// A hook can need the objects of hooks before it, whatever their policies are.
func TestHooksThatNeedEachOther(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Write(template("account.yaml"), `apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Release.Name }}-account
  annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: "-1", helm.sh/hook-delete-policy: hook-succeeded}
`)
	s.Write(template("before.yaml"), strings.Replace(hook("before", "pre-install", "hook-succeeded"), "restartPolicy:", "serviceAccountName: {{ .Release.Name }}-account\n      restartPolicy:", 1))
	s.Add("one", nil)
	seen, _ := s.Start()
	s.AwaitReady("one")
	s.EventuallyGone(&corev1.ServiceAccount{ObjectMeta: s.Named("one-account")})
	order := seen.Writes()
	job, account := last(order, "DELETE", "/jobs/one-before"), last(order, "DELETE", "/serviceaccounts/one-account")
	if job < 0 || account < job {
		t.Errorf("the writes are %s: want the deletion of the Job, and then of the ServiceAccount", strings.Join(order, "\n"))
	}
}

// A CRD that is a hook is never deleted: all its objects would be deleted with it.
func TestDefinitionThatIsAHook(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"before-hook-creation", "hook-succeeded"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			group := s.Namespace + ".example.com"
			s.Write(template("crd.yaml"), `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: coins.`+group+`
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: `+policy+`, color: {{ .Values.color }}}
spec:
  group: `+group+`
  scope: Namespaced
  names: {kind: Coin, plural: coins}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)
			definition := &unstructured.Unstructured{}
			definition.SetName("coins." + group)
			definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
			t.Cleanup(func() { s.Must(client.IgnoreNotFound(s.Delete(context.WithoutCancel(t.Context()), definition))) })
			s.Add("one", nil)
			s.Start()
			s.AwaitReady("one")
			s.Must(s.Get(t.Context(), client.ObjectKeyFromObject(definition), definition))
			first := definition.GetUID()
			s.SetSpec("one", `{"color":"blue"}`)
			s.EventuallyData("one", "color", "blue")
			s.AwaitReady("one")
			s.Must(s.Get(t.Context(), client.ObjectKeyFromObject(definition), definition))
			if definition.GetUID() != first {
				t.Error("the CRD was deleted")
			}
			if color := definition.GetAnnotations()["color"]; policy == "before-hook-creation" && color != "blue" {
				t.Errorf("the CRD was not updated: its color is %q", color)
			}
			if owners := definition.GetOwnerReferences(); len(owners) > 0 {
				t.Errorf("the CRD, which is cluster-scoped, has the namespaced owners %+v", owners)
			}
			s.Add("two", nil)
			s.AwaitReady("two")
		})
	}
}

// The object of a hook that is to be kept outlives its owner, and what garbage collection does not reach is deleted.
func TestWhatHooksLeave(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "one-" + s.Namespace}}
	s.Write(template("hooks.yaml"), `apiVersion: v1
kind: Secret
metadata:
  name: {{ .Release.Name }}-key
  annotations: {helm.sh/hook: pre-install, helm.sh/resource-policy: keep}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ .Release.Name }}-token
  annotations: {helm.sh/hook: pre-install}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: `+role.Name+`
  annotations: {helm.sh/hook: pre-delete, helm.sh/hook-delete-policy: hook-succeeded}
`)
	s.Add("one", nil)
	seen, _ := s.Start()
	s.AwaitReady("one")
	s.Must(s.Delete(t.Context(), s.New("one", nil)))
	s.EventuallyGone(s.New("one", nil))
	s.EventuallyGone(&corev1.Secret{ObjectMeta: s.Named("one-token")})
	key := &corev1.Secret{ObjectMeta: s.Named("one-key")}
	s.Must(s.Get(t.Context(), client.ObjectKeyFromObject(key), key))
	if order := seen.Writes(); last(order, "POST", "/clusterroles") < 0 || last(order, "DELETE", "/clusterroles/"+role.Name) < 0 {
		t.Errorf("the writes are %s: want the creation and the deletion of a ClusterRole", strings.Join(order, "\n"))
	}
	s.EventuallyGone(role)
}

// Values that were deleted together with the object do not hold up its deletion.
func TestHooksOfADeletionWithoutValues(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Write("watches.yaml", `
- group: shop.example.com
  version: v1
  kind: Till
  chart: helm-charts/till
  valuesFrom: [{kind: Secret, name: $(name)-values}]
`)
	s.Write(template("before.yaml"), hook("before", "pre-delete", "hook-succeeded"))
	values := &corev1.Secret{ObjectMeta: s.Named("one-values"), StringData: map[string]string{"values.yaml": "color: gold\n"}}
	s.Must(s.Create(t.Context(), values))
	s.Add("one", nil)
	s.Start()
	s.AwaitReady("one")
	s.Must(s.Delete(t.Context(), values))
	s.Must(s.Delete(t.Context(), s.New("one", nil)))
	s.EventuallyGone(s.New("one", nil))
}

// A failed hook is not retried for its revision, and nothing of the chart is applied. Other objects are not affected.
func TestFailedHook(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Write(template("before.yaml"), hook("before", "pre-install,pre-upgrade", "hook-failed"))
	s.Add("bad", map[string]any{"pod": map[string]any{"sim.operon.dev/fail": "crash-loop"}})
	s.Add("good", nil)
	seen, _ := s.Start()
	s.AwaitReady("good")
	stalled := s.AwaitCondition("bad", "Stalled", metav1.ConditionTrue, "StepFailed")
	if !strings.Contains(stalled.Message, "hook Job bad-before: BackoffLimitExceeded") {
		t.Errorf("Stalled has the message %q, want the hook and its failure", stalled.Message)
	}
	s.EventuallyGone(&batchv1.Job{ObjectMeta: s.Named("bad-before")})
	s.Quiet(seen)
	err := s.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: "bad"}, &corev1.ConfigMap{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("get an object of the chart whose hook failed: %v, want that it does not exist", err)
	}
	s.SetSpec("bad", `{"pod":null}`)
	s.AwaitReady("bad")
}

// The hooks of a deletion run before and after the objects of the chart are deleted.
func TestHooksOfADeletion(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Write(template("before.yaml"), hook("before", "pre-delete", "hook-succeeded"))
	s.Write(template("after.yaml"), hook("after", "post-delete", "hook-succeeded"))
	s.Add("one", nil)
	seen, _ := s.Start()
	s.AwaitReady("one")
	s.Must(s.Delete(t.Context(), s.New("one", nil)))
	s.EventuallyGone(s.New("one", nil))
	order := seen.Writes()
	first, object, second := place(order, "/jobs"), place(order, "DELETE /api/v1/namespaces/"+s.Namespace+"/configmaps/one"), last(order, "POST", "/jobs")
	if first >= object || object >= second {
		t.Errorf("the writes are %s: want a Job, the deletion of the objects, and the other Job", strings.Join(order, "\n"))
	}
	for _, name := range []string{"one-before", "one-after"} {
		s.EventuallyGone(&batchv1.Job{ObjectMeta: s.Named(name)})
	}
}

// A lookup that is not allowed does not make the hooks of a deletion be skipped. Users can ask for that.
func TestDeletionWithForbiddenLookup(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Write(template("before.yaml"), hook("before", "pre-delete", "hook-succeeded"))
	s.Write(template("text.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: text}\ndata: {text: {{ tpl .Values.text . | quote }}}\n")
	s.Add("one", map[string]any{"text": "a"})
	s.Start()
	s.AwaitReady("one")
	s.SetSpec("one", `{"text":"{{ (lookup \"v1\" \"Service\" \"default\" \"kubernetes\").metadata.name }}"}`)
	one := s.New("one", nil)
	s.Must(s.Delete(t.Context(), one))
	s.Eventually("the deletion to wait", func(context.Context) error {
		ready := meta.FindStatusCondition(s.StatusOf("one").Conditions, "Ready")
		if ready == nil || !strings.Contains(ready.Message, "uninstall-disable-hooks") {
			return fmt.Errorf("the condition is %+v", ready)
		}
		return nil
	})
	s.Must(s.Patch(t.Context(), one, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"helm.sdk.operatorframework.io/uninstall-disable-hooks":"true"}}}`))))
	s.EventuallyGone(one)
}

// An object that has the name of a hook, but was not created for it, is left alone. The hook waits until it is deleted.
func TestHookWithTheNameOfAnotherObject(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(s *shop, job *batchv1.Job){
		"that is no hook": func(*shop, *batchv1.Job) {},
		"that is a hook of another owner": func(s *shop, job *batchv1.Job) {
			owner := &corev1.ConfigMap{ObjectMeta: s.Named("owner")}
			s.Must(s.Create(t.Context(), owner))
			job.Annotations = map[string]string{"helm.sh/hook": "pre-install"}
			job.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.Write(template("before.yaml"), hook("before", "pre-install", "before-hook-creation"))
			theirs := &batchv1.Job{ObjectMeta: s.Named("one-before")}
			theirs.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "job", Image: "job"}}}
			edit(s, theirs)
			s.Must(s.Create(t.Context(), theirs))
			s.Add("one", nil)
			s.Start()
			s.Eventually("the hook to wait", func(context.Context) error {
				ready := meta.FindStatusCondition(s.StatusOf("one").Conditions, "Ready")
				if ready == nil || !strings.Contains(ready.Message, "Job one-before: another object has its name") {
					return fmt.Errorf("the condition is %+v", ready)
				}
				return nil
			})
			if uid := s.jobUID("one-before", false); uid != string(theirs.UID) {
				t.Error("the Job of somebody else was replaced")
			}
			s.Must(s.Delete(t.Context(), theirs, client.PropagationPolicy(metav1.DeletePropagationBackground)))
			s.AwaitReady("one")
		})
	}
}

// The hook of a custom resource of the same name in another namespace is left alone. The next custom resource with the name and the namespace replaces
// what garbage collection did not reach.
func TestClusterScopedHooks(t *testing.T) {
	t.Parallel()
	ours, theirs := newShop(t), newShop(t)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "one-" + ours.Namespace}}
	t.Cleanup(func() { ours.Must(client.IgnoreNotFound(ours.Delete(context.WithoutCancel(t.Context()), role))) })
	for _, s := range []*shop{ours, theirs} {
		s.Write(template("role.yaml"), `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: `+role.Name+`
  annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: before-hook-creation}
`)
	}
	uid := func() types.UID {
		ours.Must(ours.Get(t.Context(), client.ObjectKeyFromObject(role), role))
		return role.UID
	}
	ours.Add("one", nil)
	ours.Start()
	ours.AwaitReady("one")
	first := uid()

	theirs.Add("one", nil)
	_, stop := theirs.Start()
	theirs.Eventually("the hook to wait or to run", func(context.Context) error {
		ready := meta.FindStatusCondition(theirs.StatusOf("one").Conditions, "Ready")
		if ready == nil || ready.Status != metav1.ConditionTrue && !strings.Contains(ready.Message, "ClusterRole "+role.Name+": another object has its name") {
			return fmt.Errorf("the condition is %+v", ready)
		}
		return nil
	})
	if uid() != first {
		t.Error("the hook of the custom resource in the other namespace was replaced")
	}
	stop() // it would take the name as soon as it is free

	ours.Must(ours.Delete(t.Context(), ours.New("one", nil)))
	ours.EventuallyGone(ours.New("one", nil))
	ours.Add("one", nil)
	ours.AwaitReady("one")
	if uid() == first {
		t.Error("the hook of the new custom resource did not run")
	}
}

// An object of the chart that a later version of it turns into a hook is replaced.
func TestObjectThatBecomesAHook(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	job := hook("before", "pre-upgrade", "before-hook-creation")
	s.Write(template("before.yaml"), strings.Replace(job, "helm.sh/hook: pre-upgrade", "example.com/hook: no", 1))
	s.Add("one", nil)
	_, stop := s.Start()
	s.AwaitReady("one")
	first := s.jobUID("one-before", true)
	stop()
	s.Write(template("before.yaml"), job)
	s.Start()
	s.SetSpec("one", `{"color":"blue"}`)
	s.EventuallyData("one", "color", "blue")
	s.AwaitReady("one")
	if uid := s.jobUID("one-before", true); uid == first {
		t.Error("the hook did not run")
	}
}
