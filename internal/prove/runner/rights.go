package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/internal/prove/patient"
	"github.com/operon-framework/operon/internal/tools/project"
)

// awaitRights returns when the API server has applied the permissions of the operator in a world. It applies Roles and
// bindings a moment after it has stored them, and would reject earlier requests of the operator.
func (s *Stage) awaitRights(ctx context.Context, world string) error {
	client, err := kubernetes.NewForConfig(patient.Config(s.identity, patient.Session))
	if err != nil {
		return err
	}
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: world}}
	tick := time.NewTicker(timing.look)
	defer tick.Stop()
	for began := time.Now(); ; {
		known, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
		if err == nil {
			if err = unknown(s.Grants, known.Status.ResourceRules); err == nil {
				return nil
			}
		}
		if time.Since(began) > timing.clusterPatience {
			return fmt.Errorf("after %s the operator still lacks its permissions: %w", timing.clusterPatience, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// unknown returns an error for a rule of the grants that the API server has not applied yet. It ignores grants in another
// namespace, Roles that are not part of the project, and aggregated ClusterRoles.
func unknown(grants []project.Grant, known []authorizationv1.ResourceRule) error {
	for _, one := range grants {
		if one.Role.Unstructured == nil || one.Namespace != "" {
			continue
		}
		role, err := one.ReadRole()
		if err != nil {
			return err
		}
		if role.AggregationRule != nil {
			continue
		}
		for _, rule := range role.Rules {
			is := func(k authorizationv1.ResourceRule) bool {
				return slices.Equal(k.Verbs, rule.Verbs) && slices.Equal(k.APIGroups, rule.APIGroups) &&
					slices.Equal(k.Resources, rule.Resources) && slices.Equal(k.ResourceNames, rule.ResourceNames)
			}
			if len(rule.Resources) > 0 && !slices.ContainsFunc(known, is) {
				return fmt.Errorf("%s: the API server has not applied %s on %s yet", one.Role.Place(), rule.Verbs, rule.Resources)
			}
		}
	}
	return nil
}
