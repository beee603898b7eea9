package reconcilelog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// askTimeout is how long an operator on this machine may take to answer.
const askTimeout = 15 * time.Second

// Refused is an error response of an operator, in its own words.
type Refused struct{ Message string }

func (e *Refused) Error() string { return e.Message }

// AskOperator returns the operator that answers at an address, HOST:PORT.
func AskOperator(ctx context.Context, address string) (Operator, error) {
	var operator Operator
	return operator, ask(ctx, address, Path, &operator)
}

// AskObject returns what the operator at an address has stored about an object. kind is Kind or
// Kind.group. If the operator has stored nothing, the error is a *Refused.
func AskObject(ctx context.Context, address, kind, namespace, name string) (Object, error) {
	var object Object
	path := Path + "/objects"
	for _, part := range []string{kind, cmp.Or(namespace, clusterScope), name} {
		path += "/" + url.PathEscape(part)
	}
	return object, ask(ctx, address, path, &object)
}

// maxAnswer is more than the size of any operator's response. Any process on the machine may listen at its address.
const maxAnswer = 16 << 20

func ask(ctx context.Context, address, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return plain(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	if response.StatusCode == http.StatusOK {
		return json.Unmarshal(body, into)
	}
	var refused struct{ Error string }
	if json.Unmarshal(body, &refused) == nil && refused.Error != "" {
		return &Refused{refused.Error}
	}
	return fmt.Errorf("it has no debug endpoint (%s %s)", response.Status, strings.TrimSpace(string(body)))
}

// plain removes the URL, which the caller knows, from a client's error.
func plain(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
