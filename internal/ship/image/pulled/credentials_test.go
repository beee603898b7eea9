package pulled_test

import (
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/operon-framework/operon/internal/ship/image/pulled"
	"github.com/operon-framework/operon/internal/testing/registrytest"
)

// An image that was fetched with credentials is not given to those who have none, even by its digest.
func TestImagesOfOwnersAreApart(t *testing.T) {
	t.Parallel()
	r := registrytest.NewPrivate(t)
	reference := r.Push("private:1", map[string]string{"manifests/a.yaml": "a: 1"})
	all := pulled.New(t.TempDir(), pulled.DefaultLimits)
	owner := all.For("team", keychain{registrytest.User, registrytest.Password})
	image, err := owner.Fetch(t.Context(), reference, "manifests")
	if err != nil {
		t.Fatal(err)
	}
	pinned := strings.TrimSuffix(reference, ":1") + "@" + image.Digest
	if _, err := owner.Fetch(t.Context(), pinned, "manifests"); err != nil {
		t.Error(err)
	}
	for name, other := range map[string]*pulled.Store{"nobody": all, "other": all.For("other", keychain{"other", "wrong"})} {
		if _, err := other.Fetch(t.Context(), pinned, "manifests"); err == nil || !strings.Contains(err.Error(), "the registry answers with status 401") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type keychain struct{ user, password string }

func (k keychain) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Basic{Username: k.user, Password: k.password}, nil
}
