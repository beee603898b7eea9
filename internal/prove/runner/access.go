package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/tools/project"
)

// account is the name of the operator's ServiceAccount.
const account = "operator"

// tokenLife is the requested lifetime of the operator's token, in seconds. It is longer than any session.
const tokenLife = 24 * 60 * 60

// home returns the namespace of the session's ServiceAccount. The operators of all worlds are the
// same user, so that a world does not need its own token.
func (s *Stage) home() string { return "prove-" + s.session }

// grant creates the operator's identity, and grants it the permissions that apply to the whole cluster. It returns
// the operator's config.
func (s *Stage) grant(ctx context.Context) (*rest.Config, error) {
	if s.Grants == nil {
		return s.raw, nil
	}
	client, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		return nil, err
	}
	if err := s.applyOwn(ctx, "Namespace", s.home(), ""); err != nil {
		return nil, err
	}
	if err := s.applyOwn(ctx, "ServiceAccount", account, s.home()); err != nil {
		return nil, err
	}
	for _, one := range s.Grants {
		if err := s.grantOne(ctx, one, ""); err != nil {
			return nil, err
		}
	}
	seconds := int64(tokenLife)
	token, err := client.CoreV1().ServiceAccounts(s.home()).CreateToken(ctx, account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("a token for the operator: %w", err)
	}
	config := rest.AnonymousClientConfig(s.raw)
	config.BearerToken = token.Status.Token
	return config, nil
}

func (s *Stage) labels() map[string]string { return map[string]string{Label: s.session} }

// applyOwn applies an object of the session itself. Unlike a creation, it can be repeated if the response is lost.
func (s *Stage) applyOwn(ctx context.Context, kind, name, namespace string) error {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind(kind)
	object.SetName(name)
	object.SetLabels(s.labels())
	_, err := s.apply(ctx, object, namespace)
	return err
}

// grantOne grants the operator a Role or ClusterRole: in a world if it applies to a namespace, or once
// for the session (world is "") if it applies to the whole cluster.
func (s *Stage) grantOne(ctx context.Context, one project.Grant, world string) error {
	inWorld := one.Scope == project.NamespaceScope
	if inWorld != (world != "") {
		return nil
	}
	name := s.home() + "-" + one.Name
	if one.Role.Unstructured != nil {
		role := one.Role.DeepCopy()
		role.SetName(name)
		role.SetNamespace("")
		role.SetLabels(s.labels())
		if _, err := s.apply(ctx, role, cmp.Or(one.Namespace, world)); err != nil {
			return fmt.Errorf("%s: %w", one.Role.Place(), err)
		}
	} else {
		name = one.Name
	}
	return s.bind(ctx, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: one.Kind, Name: name}, cmp.Or(one.Namespace, world))
}

// bind binds a role to the operator, in the whole cluster if namespace is empty.
func (s *Stage) bind(ctx context.Context, role rbacv1.RoleRef, namespace string) error {
	version := rbacv1.SchemeGroupVersion.String()
	about := metav1.ObjectMeta{Name: s.home() + "-" + role.Name, Namespace: namespace, Labels: s.labels()}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.home(), Name: account}}
	var binding any = &rbacv1.RoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "RoleBinding"}, ObjectMeta: about, RoleRef: role, Subjects: subjects,
	}
	if namespace == "" {
		binding = &rbacv1.ClusterRoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ClusterRoleBinding"}, ObjectMeta: about, RoleRef: role, Subjects: subjects,
		}
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(binding)
	if err != nil {
		return err
	}
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	_, err = s.apply(ctx, &unstructured.Unstructured{Object: fields}, namespace)
	return err
}

// grantIn grants the operator the permissions that apply to a world. It returns when they are effective.
func (s *Stage) grantIn(ctx context.Context, world string) error {
	if s.Grants == nil {
		return nil
	}
	for _, one := range s.Grants {
		if err := s.grantOne(ctx, one, world); err != nil {
			return err
		}
	}
	return s.awaitRights(ctx, world)
}

// revoke removes the session's identity from the cluster.
func (s *Stage) revoke(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		return err
	}
	ours := metav1.ListOptions{LabelSelector: Label + "=" + s.session}
	if s.Grants == nil {
		return nil
	}
	return errors.Join(
		client.RbacV1().ClusterRoleBindings().DeleteCollection(ctx, metav1.DeleteOptions{}, ours),
		client.RbacV1().ClusterRoles().DeleteCollection(ctx, metav1.DeleteOptions{}, ours),
		client.CoreV1().Namespaces().Delete(ctx, s.home(), metav1.DeleteOptions{}),
	)
}
