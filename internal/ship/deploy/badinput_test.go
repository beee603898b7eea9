package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/up"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

// noNamespace fails the test if the operator's namespace exists.
func (f *fixture) noNamespace(t *testing.T) {
	t.Helper()
	if _, err := f.client.CoreV1().Namespaces().Get(t.Context(), f.namespace(), metav1.GetOptions{}); gone(err) != nil {
		t.Errorf("namespace %s: %v", f.namespace(), gone(err))
	}
}

func TestDeployWithoutPermission(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kubeconfig := f.nobody(t)
	_, _, err := f.deploy(t, func(o *deploy.Options) { o.Where = up.Where{Kubeconfig: kubeconfig} })
	if missing := refuses(err, "nothing was changed", "create namespaces\n", "patch deployments.apps in namespace "+f.namespace(), "get pods/log in namespace"); missing != nil {
		t.Error(missing)
	}
	f.noNamespace(t)
}

// nobody returns the kubeconfig of a user without permissions.
func (f *fixture) nobody(t *testing.T) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{GenerateName: "nobody-"}}
	made, err := f.client.CoreV1().ServiceAccounts(f.env.Namespace).Create(t.Context(), account, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.client.CoreV1().ServiceAccounts(made.Namespace).Delete(context.WithoutCancel(t.Context()), made.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return identity(t, f.env, t.TempDir(), made.Namespace, made.Name)
}

// Pods that cannot be scheduled are reported with the scheduler's message.
func TestUnscheduled(t *testing.T) {
	t.Parallel()
	f := fixtureIn(t, localtest.New(t, local.Options{}))
	nodes, err := f.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 {
		t.Fatalf("%d nodes, %v", len(nodes.Items), err)
	}
	if _, err := f.client.CoreV1().Nodes().Patch(t.Context(), nodes.Items[0].Name, types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	var missing error
	for patience := 5 * time.Second; patience < timeout; patience *= 4 { // the first is enough if the machine is not busy
		_, said, err := f.deploy(t, func(o *deploy.Options) {
			o.Timeout = patience
			// Different pods each time: the scheduler may have received the change of the node too late for the previous pods.
			o.PodAnnotations = map[string]string{"patience": patience.String()}
		})
		missing = errors.Join(lacks(said, "cannot be scheduled"), refuses(err, fmt.Sprintf("not ready after %s: pod %s", patience, f.name), "cannot be scheduled",
			"0/1 nodes are available: 1 node(s) were unschedulable", "operon undeploy"))
		if missing == nil {
			break
		}
	}
	if missing != nil {
		t.Error(missing)
	}
}

// Objects that the API server would reject are reported before anything is written.
func TestDeployWhatIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.edit(t, "config/crd/gadgets.yaml", "type: object", "type: objekt")
	_, _, err := f.deploy(t, nil)
	if missing := refuses(err, "nothing was deployed", "CustomResourceDefinition gadgets."+f.group, "objekt"); missing != nil {
		t.Error(missing)
	}
	f.noNamespace(t)
}

// If a first deployment fails halfway, its objects are deleted.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.refuseDeployments(t)
	_, said, err := f.deploy(t, nil)
	if missing := refuses(err, "apply Deployment "+f.namespace()+"/"+f.name, "the objects created so far were removed"); missing != nil {
		t.Fatal(missing, said)
	}
	f.noNamespace(t)
	if _, err := f.client.RbacV1().ClusterRoles().Get(t.Context(), f.name, metav1.GetOptions{}); gone(err) != nil {
		t.Errorf("the ClusterRole: %v", gone(err))
	}
}

// If two first deployments run at the same time, neither changes the objects of the other.
func TestDeployMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	records := f.client.CoreV1().ConfigMaps(f.env.Namespace)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: f.name + "-deployment", Labels: map[string]string{"operon.dev/deployment": f.name}}}
	_, _, err := f.deploy(t, func(o *deploy.Options) {
		o.Namespace = f.env.Namespace
		o.Progress = writerFunc(func(said string) { // after the existing objects were read
			if strings.Contains(said, "Namespace "+f.env.Namespace+" existed before") {
				if _, err := records.Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	})
	if missing := refuses(err, "another client has started to deploy it", "ConfigMap "+f.env.Namespace+"/"+theirs.Name); missing != nil {
		t.Error(missing)
	}
	if err := records.Delete(t.Context(), theirs.Name, metav1.DeleteOptions{}); err != nil {
		t.Errorf("what the other one made: %v", err)
	}
}

// If a first deployment fails, it deletes nothing if another client has continued the deployment.
func TestTakeBackNothingOfOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.refuseDeployments(t)
	record := f.name + "-deployment"
	_, _, err := f.deploy(t, func(o *deploy.Options) {
		o.Progress = writerFunc(func(said string) {
			if strings.Contains(said, "removing the objects created so far") {
				_, err := f.client.CoreV1().ConfigMaps(f.namespace()).Patch(t.Context(), record, types.MergePatchType, []byte(`{"data":{"begun":"another"}}`), metav1.PatchOptions{})
				if err != nil {
					t.Error(err)
				}
			}
		})
	})
	if missing := refuses(err, "apply Deployment", "nothing is removed: another client has started to deploy it"); missing != nil {
		t.Error(missing)
	}
	if _, err := f.client.RbacV1().ClusterRoles().Get(t.Context(), f.name, metav1.GetOptions{}); err != nil {
		t.Errorf("what both made: %v", err)
	}
}

// writerFunc is an io.Writer.
type writerFunc func(string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}

// refuseDeployments makes API servers reject Deployments, except in a dry run, in the operator's and the test's namespace.
func (f *fixture) refuseDeployments(t *testing.T) {
	t.Helper()
	policies := f.client.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	bindings := f.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	create, named := admissionv1.Create, metav1.ObjectMeta{Name: f.name}
	_, err := policies.Create(t.Context(), &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: named, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{create},
			Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
		}}}},
		MatchConditions: []admissionv1.MatchCondition{{Name: "it", Expression: "request.namespace in ['" + f.namespace() + "', '" + f.env.Namespace + "']"}},
		Validations:     []admissionv1.Validation{{Expression: "has(request.dryRun) && request.dryRun"}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(policies.Delete(ctx, f.name, metav1.DeleteOptions{}), bindings.Delete(ctx, f.name, metav1.DeleteOptions{})); err != nil {
			t.Error(err)
		}
	})
	_, err = bindings.Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: named, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: f.name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	localtest.Eventually(t, "the policy to be in force", func(ctx context.Context) error {
		labels := map[string]string{"app": "probe"}
		probe := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"}, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}},
		}}
		_, err := f.client.AppsV1().Deployments(f.env.Namespace).Create(ctx, probe, metav1.CreateOptions{})
		return refuses(err, "ValidatingAdmissionPolicy '"+f.name+"'")
	})
}

// An operator can be deployed in only one namespace.
func TestDeployElsewhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	_, _, err := f.deploy(t, func(o *deploy.Options) { o.Namespace = f.env.Namespace })
	if missing := refuses(err, "ClusterRole "+f.name+" already exists, of the deployment of "+f.name+" in namespace "+f.namespace(), "operon undeploy --namespace "+f.namespace()); missing != nil {
		t.Error(missing)
	}
}

func TestDeployOverUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace(), Labels: map[string]string{"operon.dev/up": f.name}}}
	if _, err := f.client.CoreV1().Namespaces().Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.removeNamespace(t) })
	_, _, err := f.deploy(t, nil)
	if missing := refuses(err, "Namespace "+f.namespace()+" was created by `operon up`: remove it first with `operon down`"); missing != nil {
		t.Error(missing)
	}
}

// Definitions that break stored objects are not applied.
func TestUnsafeDefinitions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	create(t, f.gadgets(), f.gadget("stored"))
	f.edit(t, "config/crd/gadgets.yaml", "size:", "sice:")
	_, _, err := f.deploy(t, nil)
	if missing := refuses(err, "nothing was deployed", "--unsafe-crds", "spec.size"); missing != nil {
		t.Error(missing)
	}
	f.mustDeploy(t, func(o *deploy.Options) { o.UnsafeCRDs = true })
}

// The error names a quota that rejects pods.
func TestQuota(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	into := func(o *deploy.Options) { o.Namespace = f.env.Namespace }
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "small"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			corev1.ResourcePods: resource.MustParse("1"), corev1.ResourceSecrets: resource.MustParse("0"),
		}},
	}
	if _, err := f.client.CoreV1().ResourceQuotas(f.env.Namespace).Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	localtest.Eventually(t, "the quota to be in force", func(ctx context.Context) error {
		_, err := f.client.CoreV1().Secrets(f.env.Namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}, dry)
		return refuses(err, "exceeded quota: small")
	})
	t.Cleanup(func() { f.undeployFrom(t, f.env.Namespace) })
	_, _, err := f.deploy(t, into)
	if missing := refuses(err, "a quota of the namespace rejects the pods", "exceeded quota: small"); missing != nil {
		t.Error(missing)
	}
}

func (f *fixture) undeployFrom(t *testing.T, namespace string) {
	if _, said, err := f.undeploy(t, func(o *deploy.UndeployOptions) { o.Namespace = namespace }); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// The error names a webhook that API servers cannot reach, even if the pods are ready.
func TestWebhookIsNotReached(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.deaf(t, func(o *deploy.Options) { o.Image = "registry.example.com/gadget:1.0" })
	f.undeployFrom(t, "")
	if _, err := f.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), f.name, metav1.GetOptions{}); gone(err) != nil {
		t.Errorf("what the operator registered: %v", gone(err))
	}
}

// A version without webhooks removes the registration of one with webhooks together with its Service: otherwise API servers would reject all
// writes of the kind.
func TestVersionWithoutWebhooks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.deaf(t, func(o *deploy.Options) { o.Image = "registry.example.com/gadget:1.0" })
	f.edit(t, "config/rbac/role.yaml", rightsOfWebhooks, "")
	made := f.mustDeploy(t, nil)
	for _, want := range []string{"ValidatingWebhookConfiguration " + f.name, "Service " + f.namespace() + "/" + f.name + "-webhook"} {
		if !slices.Contains(made.Pruned, want) {
			t.Errorf("pruned %q, not %s", made.Pruned, want)
		}
	}
	localtest.Eventually(t, "a write of the kind", func(ctx context.Context) error {
		_, err := f.gadgets().Create(ctx, f.gadget("written"), dry)
		return err
	})
}

// rightsOfWebhooks is the rule by which an operator is recognized as one that serves webhooks.
const rightsOfWebhooks = "- apiGroups: [admissionregistration.k8s.io]\n  resources: [validatingwebhookconfigurations]\n  verbs: [get]\n"

// registersWebhook registers webhooks that no server answers for the operator. One of them is for another kind in the test's
// namespace, and shows when API servers have received both. They are for creations and other operations.
func (f *fixture) registersWebhook(t *testing.T, operations ...admissionv1.OperationType) {
	t.Helper()
	f.edit(t, "config/rbac/role.yaml", "rules:\n", "rules:\n"+rightsOfWebhooks)
	hooks := f.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	none := admissionv1.SideEffectClassNone
	hook := func(name, group, resource string, in *metav1.LabelSelector) admissionv1.ValidatingWebhook {
		return admissionv1.ValidatingWebhook{
			Name: name + "." + f.group, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(1)), NamespaceSelector: in,
			ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: f.namespace(), Name: f.name + "-webhook"}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: append(operations, admissionv1.Create),
				Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource}},
			}},
		}
	}
	here := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: f.env.Namespace}}
	_, err := hooks.Create(t.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: f.name, Labels: map[string]string{"app.kubernetes.io/managed-by": f.name}},
		Webhooks:   []admissionv1.ValidatingWebhook{hook("check", f.group, "*", nil), hook("probe", "", "limitranges", here)},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	localtest.Eventually(t, "the webhooks to be asked", func(ctx context.Context) error {
		_, err := f.client.CoreV1().LimitRanges(f.env.Namespace).Create(ctx, &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}, dry)
		return refuses(err, "failed calling webhook")
	})
}

// dry requests a dry run.
var dry = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

// Webhooks of kubebuilder projects need objects that are not created here.
func TestWebhooksOfKubebuilders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../tools/project/testdata/v4")); err != nil {
		t.Fatal(err)
	}
	f := &fixture{dir: dir, env: newFixture(t).env}
	testaid.Write(t, dir+"/config/rbac/role.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: manager-role}\n")
	_, _, err := f.deploy(t, nil)
	if missing := refuses(err, "PROJECT:", "cert-manager", "--without-webhooks"); missing != nil {
		t.Error(missing)
	}
}

// removeNamespace deletes the operator's namespace.
func (f *fixture) removeNamespace(t *testing.T) {
	if err := f.client.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), f.namespace(), metav1.DeleteOptions{}); err != nil && !strings.Contains(err.Error(), "not found") {
		t.Error(err)
	}
}
