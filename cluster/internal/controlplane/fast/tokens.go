package fast

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	serviceaccounts "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// newTokens builds the controller that adds ServiceAccount tokens to Secrets, like app.Run does. Its package does not export
// the constructor. newTokens returns nil if there is no key.
func newTokens(ctx context.Context, manager app.ControllerContext, root clientbuilder.ControllerClientBuilder) (app.Controller, error) {
	settings := manager.ComponentConfig.SAController
	if settings.ServiceAccountKeyFile == "" {
		return nil, nil
	}
	key, err := keyutil.PrivateKeyFromFile(settings.ServiceAccountKeyFile)
	if err != nil {
		return nil, fmt.Errorf("key for service account tokens: %w", err)
	}
	authorities, err := tokenAuthorities(settings.RootCAFile, root)
	if err != nil {
		return nil, err
	}
	client, err := root.Client("tokens-controller")
	if err != nil {
		return nil, err
	}
	generator, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, key)
	if err != nil {
		return nil, err
	}
	core := manager.InformerFactory.Core().V1()
	tokens, err := serviceaccounts.NewTokensController(klog.FromContext(ctx), core.ServiceAccounts(), core.Secrets(), client,
		serviceaccounts.TokensControllerOptions{TokenGenerator: generator, RootCA: authorities})
	if err != nil {
		return nil, err
	}
	return loop{names.ServiceAccountTokenController, func(ctx context.Context) {
		tokens.Run(ctx, int(settings.ConcurrentSATokenSyncs))
	}}, nil
}

// tokenAuthorities returns the certificates that are stored with tokens: the contents of file or, if file is empty, the
// certificates that the manager itself trusts.
func tokenAuthorities(file string, root clientbuilder.ControllerClientBuilder) ([]byte, error) {
	if file == "" {
		config, err := root.Config("tokens-controller")
		if err != nil {
			return nil, err
		}
		return config.CAData, nil
	}
	authorities, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if _, err := cert.ParseCertsPEM(authorities); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return authorities, nil
}
