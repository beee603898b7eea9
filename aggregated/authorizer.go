package aggregated

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// aggregators are the names under which API servers read what an aggregated one serves, several times a minute: package kube-aggregator.
var aggregators = []string{"system:aggregator", "system:kube-aggregator"}

// withoutReview allows what needs no question to the cluster, and leaves the rest to another authorizer: requests of cluster administrators,
// as the library's own servers do, and what API servers read about the kinds. Otherwise, an idle server would write reviews all the time.
func withoutReview(other authorizer.Authorizer) authorizer.Authorizer {
	return authorizer.AuthorizerFunc(func(ctx context.Context, of authorizer.Attributes) (authorizer.Decision, string, error) {
		if by := of.GetUser(); by != nil && (slices.Contains(by.GetGroups(), user.SystemPrivilegedGroup) || describes(by, of)) {
			return authorizer.DecisionAllow, "", nil
		}
		return other.Authorize(ctx, of)
	})
}

// describes reports whether an API server reads the descriptions of the kinds.
func describes(by user.Info, of authorizer.Attributes) bool {
	if !slices.Contains(aggregators, by.GetName()) || of.IsResourceRequest() || of.GetVerb() != "get" {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(of.GetPath(), "/"), "/")
	return first == "apis" || first == "openapi"
}
