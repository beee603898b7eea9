package up

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// credentials maintains the files with the operator's credentials: a kubeconfig, and a token in the same directory, which
// clients read again when it changes. The token is never in an argument, environment variable or log.
type credentials struct {
	client kubernetes.Interface
	who    identity
	folder *folder
}

func newCredentials(t *target, who identity, f *folder) (*credentials, error) {
	client, err := kubernetes.NewForConfig(t.config)
	if err != nil {
		return nil, err
	}
	return &credentials{client, who, f}, nil
}

// write writes both files and returns the time at which the token is to be renewed.
func (c *credentials) write(ctx context.Context, t *target) (time.Time, error) {
	renew, err := c.renew(ctx)
	if err != nil {
		return time.Time{}, err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &t.cluster
	config.AuthInfos["operator"] = &clientcmdapi.AuthInfo{TokenFile: c.folder.token()}
	config.Contexts["operator"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "operator", Namespace: c.who.namespace}
	config.CurrentContext = "operator"
	content, err := clientcmd.Write(*config)
	if err != nil {
		return time.Time{}, err
	}
	return renew, writeFile(c.folder.kubeconfig(), content)
}

// renew writes a new token and returns the time of the next renewal, after half of its lifetime.
func (c *credentials) renew(ctx context.Context) (time.Time, error) {
	seconds := int64(timing.tokenLifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := c.client.CoreV1().ServiceAccounts(c.who.namespace).CreateToken(ctx, c.who.name, request, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) {
		return time.Time{}, fmt.Errorf("the operator's ServiceAccount %s/%s is gone; start `operon up` again", c.who.namespace, c.who.name)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("get a token for the operator's ServiceAccount: %w", err)
	}
	if err := writeFile(c.folder.token(), []byte(answer.Status.Token)); err != nil {
		return time.Time{}, err
	}
	return time.Now().Add(time.Until(answer.Status.ExpirationTimestamp.Time) / 2), nil
}

// keep renews the token when it is due until ctx ends. It passes errors to failed, and nil when a renewal succeeds again.
func (c *credentials) keep(ctx context.Context, due time.Time, failed func(error)) {
	due = due.Round(0) // the clock of the wall goes on while the machine is suspended
	for {
		timer := time.NewTimer(min(time.Until(due), timing.tokenLook))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if time.Now().Round(0).Before(due) {
			continue
		}
		next, err := c.renew(ctx)
		if ctx.Err() != nil {
			return
		}
		failed(err)
		if err != nil {
			next = time.Now().Add(timing.tokenRetry)
		}
		due = next.Round(0)
	}
}
