package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/operontest"

	"github.com/operon-framework/operon/examples/vmgroup/api/v1alpha1"
	"github.com/operon-framework/operon/examples/vmgroup/vcenter/simulated"
)

// stage is a namespace of a real Kubernetes, with a simulated vCenter.
type stage struct {
	*testing.T
	*localtest.Env
	client.Client
	vcenter *simulated.VCenter
	group   *v1alpha1.VMGroup
}

func newStage(t *testing.T) *stage {
	t.Helper()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "config/crd")
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	g := operontest.Sample[*v1alpha1.VMGroup](t, "config/samples/vmgroup.yaml")
	g.Namespace = env.Namespace
	return &stage{T: t, Env: env, Client: c, vcenter: simulated.Start(t), group: g}
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// credentials creates the Secret with the access to the vCenter.
func (s *stage) credentials() {
	s.Helper()
	s.must(s.Create(s.Context(), s.secret()))
}

func (s *stage) secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "vc-creds", Namespace: s.Namespace}, Data: s.vcenter.Secret()}
}

// change changes the spec of the group.
func (s *stage) change(edit func(*v1alpha1.VMGroupSpec)) {
	s.Helper()
	key := client.ObjectKeyFromObject(s.group)
	s.must(s.Get(s.Context(), key, s.group))
	before := s.group.DeepCopy()
	edit(&s.group.Spec)
	s.must(s.Patch(s.Context(), s.group, client.MergeFrom(before)))
}

// scale uses the scale subresource, like kubectl scale.
func (s *stage) scale(replicas int) {
	s.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	s.must(s.SubResource("scale").Patch(s.Context(), s.group.DeepCopy(), patch)) // the response is a Scale
}

// comesTo waits until the status and the vCenter have the wanted number of machines, with the wanted number of processors.
func (s *stage) comesTo(replicas, cpu int) {
	s.Helper()
	localtest.Eventually(s.T, fmt.Sprintf("%d machines with %d processors", replicas, cpu), func(ctx context.Context) error {
		g := s.group
		if err := s.Get(ctx, client.ObjectKeyFromObject(g), g); err != nil {
			return err
		}
		there, err := s.vcenter.Machines(ctx, g.Name)
		if err != nil || len(there) != replicas {
			return fmt.Errorf("there are %q, %v", there, err)
		}
		for _, m := range there {
			if !strings.HasSuffix(m, fmt.Sprint(" ", cpu)) {
				return fmt.Errorf("there are %q", there)
			}
		}
		now := g.Status
		if int(now.CurrentReplicas) != replicas || int(now.DesiredReplicas) != replicas || now.Phase != v1alpha1.Running ||
			!meta.IsStatusConditionTrue(now.Conditions, "Ready") || now.ObservedGeneration != g.Generation {
			return fmt.Errorf("the status is %+v", now)
		}
		return nil
	})
}

// end deletes the group, and waits until it and its machines are deleted.
func (s *stage) end() {
	s.Helper()
	s.must(s.Delete(s.Context(), s.group))
	localtest.Eventually(s.T, "the group to go", func(ctx context.Context) error {
		if err := s.Get(ctx, client.ObjectKeyFromObject(s.group), s.group); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("its finalizers are %q, its status is %+v, %w", s.group.Finalizers, s.group.Status, err)
		}
		return nil
	})
	if left, err := s.vcenter.Machines(s.Context(), s.group.Name); len(left) > 0 || err != nil {
		s.Errorf("left are %q, %v", left, err)
	}
}

// The life of a group: without credentials, with two machines, with three, with larger ones after the password has expired,
// with a template that does not exist, with another template, and without machines.
func TestVMGroup(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		err := operon.Run(ctx, "vmgroup-operator", s.Config, operon.Config{Namespace: s.Namespace}, operon.API(v1alpha1.AddToScheme), operon.Manage(VMGroups{}))
		if err != nil {
			t.Errorf("the operator ended with %v", err)
		}
		ended <- err
	}()
	s.must(s.Create(t.Context(), s.group))
	s.says("CredentialsMissing", "there is no Secret vc-creds")
	s.credentials()
	s.comesTo(2, 2)
	names := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.group.Name + "-machines", Namespace: s.Namespace}}
	if s.must(s.Get(t.Context(), client.ObjectKeyFromObject(names), names)); !strings.HasPrefix(names.Data["1"], s.group.Name+"-k") {
		t.Errorf("published are %q", names.Data)
	}
	s.scale(3)
	s.comesTo(3, 2)
	s.vcenter.Expire(t)
	s.change(func(spec *v1alpha1.VMGroupSpec) { spec.CPU, spec.Memory = 4, 8 })
	s.says("ExternalDenied", "the vCenter does not accept user and password")
	s.must(s.Update(t.Context(), s.secret()))
	s.comesTo(3, 4)
	s.change(func(spec *v1alpha1.VMGroupSpec) { spec.Template = "/DC0/vm/none" })
	s.says("ExternalRefused", "there is no machine /DC0/vm/none to clone")
	s.change(func(spec *v1alpha1.VMGroupSpec) { spec.Template = "/DC0/vm/DC0_H0_VM1" })
	s.comesTo(3, 4)
	s.end()
	stop()
	<-ended
}

// says waits for a Ready condition with the status False.
func (s *stage) says(reason, text string) {
	s.Helper()
	localtest.Eventually(s.T, "Ready=False "+reason, func(ctx context.Context) error {
		err := s.Get(ctx, client.ObjectKeyFromObject(s.group), s.group)
		ready := meta.FindStatusCondition(s.group.Status.Conditions, "Ready")
		if err != nil || ready == nil || ready.Reason != reason || !strings.Contains(ready.Message, text) {
			return fmt.Errorf("it says %+v, %v", ready, err)
		}
		return nil
	})
}
