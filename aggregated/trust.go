package aggregated

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
)

// Where a cluster publishes how to know its front proxy.
const (
	trustNamespace = "kube-system"
	trustName      = "extension-apiserver-authentication"
)

// How long an answer about a user's rights is good, as the library's own servers have it.
const answerTTL = 10 * time.Second

// trust authenticates clients by the headers of the cluster's front proxy, and authorizes them by the cluster's API.
type trust struct {
	authority *dynamiccertificates.ConfigMapCAController
	headers   *headerrequest.RequestHeaderAuthRequestController
}

// trusting sets up a server so.
func trusting(config *server.Config, client kubernetes.Interface) (*trust, error) {
	authority, err := dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", trustNamespace, trustName, "requestheader-client-ca-file", client)
	if err != nil {
		return nil, err
	}
	headers := headerrequest.NewRequestHeaderAuthRequestController(trustName, trustNamespace, client, "requestheader-username-headers",
		"requestheader-uid-headers", "requestheader-group-headers", "requestheader-extra-headers-prefix", "requestheader-allowed-names")
	front := &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   authority,
		UsernameHeaders:     headerrequest.StringSliceProviderFunc(headers.UsernameHeaders),
		UIDHeaders:          headerrequest.StringSliceProviderFunc(headers.UIDHeaders),
		GroupHeaders:        headerrequest.StringSliceProviderFunc(headers.GroupHeaders),
		ExtraHeaderPrefixes: headerrequest.StringSliceProviderFunc(headers.ExtraHeaderPrefixes),
		AllowedClientNames:  headerrequest.StringSliceProviderFunc(headers.AllowedClientNames),
	}
	known, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{RequestHeaderConfig: front}.New()
	if err != nil {
		return nil, err
	}
	config.Authentication.Authenticator, config.Authentication.RequestHeaderConfig = known, front
	asked, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(), AllowCacheTTL: answerTTL, DenyCacheTTL: answerTTL,
		WebhookRetryBackoff: options.DefaultAuthWebhookRetryBackoff(),
	}.New()
	if err != nil {
		return nil, err
	}
	config.Authorization.Authorizer = withoutReview(asked)
	return &trust{authority, headers}, nil
}

// learn reads how the front proxy is known, and continues to until ctx ends.
func (t *trust) learn(ctx context.Context) error {
	if err := errors.Join(t.authority.RunOnce(ctx), t.headers.RunOnce(ctx)); err != nil {
		return fmt.Errorf("learn from the ConfigMap %s/%s whom to believe: %w", trustNamespace, trustName, err)
	}
	go t.authority.Run(ctx, 1)
	go t.headers.Run(ctx, 1)
	return nil
}
