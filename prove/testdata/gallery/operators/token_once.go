package operators

import (
	"os"
	"strings"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the token is read from its file when the operator starts, and never again. When it is replaced, as
// Kubernetes does every hour, every request is refused.
var tokenOnce = Operator{
	Name:  "token-once",
	About: "reads its token once, when it starts",
	Model: "a token that is read once, in operators with clients of their own",
	Class: finding.Unobserved, Property: finding.SameState, Also: []finding.Property{finding.SameFresh, finding.NothingLeft, finding.Permitted, finding.Alive, finding.Silent},
	Needs: []Need{Expire, Change}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		config := rest.CopyConfig(m.GetConfig())
		if config.BearerTokenFile != "" {
			token, err := os.ReadFile(config.BearerTokenFile)
			if err != nil {
				return err
			}
			config.BearerToken, config.BearerTokenFile = strings.TrimSpace(string(token)), ""
		}
		writer, err := client.New(config, client.Options{Scheme: m.GetScheme(), Cache: &client.CacheOptions{Reader: m.GetCache()}})
		if err != nil {
			return err
		}
		return run(m, "token-once", &wholeApp{writer}, &api.App{}, appKinds()...)
	},
}
