package require

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/discovery"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Server answers questions about the API server that a manager is connected to.
type Server struct {
	reviews   authorizationclient.SubjectAccessReviewInterface
	discovery discovery.DiscoveryInterface
	mapper    meta.RESTMapper
}

// Connect makes the server answer through the connection of a manager.
func (s *Server) Connect(manager ctrl.Manager) error {
	reviews, err := authorizationclient.NewForConfigAndClient(manager.GetConfig(), manager.GetHTTPClient())
	if err != nil {
		return err
	}
	s.reviews, s.mapper = reviews.SubjectAccessReviews(), manager.GetRESTMapper()
	s.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(manager.GetConfig(), manager.GetHTTPClient())
	return err
}

// Version implements Cluster.
func (s *Server) Version() (string, error) {
	info, err := s.discovery.ServerVersion()
	if err != nil {
		return "", err
	}
	return info.GitVersion, nil
}

// Serves implements Cluster.
func (s *Server) Serves(kind schema.GroupVersionKind) (bool, error) {
	_, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

// Resource returns the resource of a kind, or an empty string if the API server does not have the kind.
func (s *Server) Resource(kind schema.GroupVersionKind) (string, error) {
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return mapping.Resource.Resource, nil
}

// Allowed implements Cluster. It asks the API server, because only its authorizers know: each combination of a rule is one question, and the
// first that is denied ends the check.
func (s *Server) Allowed(ctx context.Context, account client.ObjectKey, namespace string, rule rbacv1.PolicyRule) (bool, error) {
	for _, spec := range questions(namespace, rule) {
		spec.User = serviceaccount.MakeUsername(account.Namespace, account.Name)
		spec.Groups = append(serviceaccount.MakeGroupNames(account.Namespace), "system:authenticated")
		review, err := s.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
		if err != nil {
			return false, fmt.Errorf("create a SubjectAccessReview: %w", err)
		}
		if !review.Status.Allowed {
			return false, nil
		}
	}
	return true, nil
}

// questions returns a question for each combination of the verbs and resources of a rule.
func questions(namespace string, rule rbacv1.PolicyRule) []authorizationv1.SubjectAccessReviewSpec {
	var all []authorizationv1.SubjectAccessReviewSpec
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, verb := range rule.Verbs {
		for _, path := range rule.NonResourceURLs {
			all = append(all, authorizationv1.SubjectAccessReviewSpec{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb}})
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					all = append(all, authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: about(namespace, verb, group, resource, name)})
				}
			}
		}
	}
	return all
}

func about(namespace, verb, group, resource, name string) *authorizationv1.ResourceAttributes {
	resource, sub := split(resource)
	return &authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: verb, Group: group, Version: "*", Resource: resource, Subresource: sub, Name: name,
	}
}

// split divides a resource of a rule into the resource and the subresource.
func split(resource string) (parent, sub string) {
	parent, sub, _ = strings.Cut(resource, "/")
	return parent, sub
}
