package helm

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"helm.sh/helm/v4/pkg/release/common"
	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon"
)

// maxUnpacked limits the memory that a release takes: anybody who may create Secrets in the namespace can store one. It is 20 times what fits into a
// Secret in compressed form. Charts compress to a fifth or a tenth. Helm has no limit.
const maxUnpacked = 16 << 20

var errTooLarge = fmt.Errorf("the release takes more than %d MiB unpacked", maxUnpacked>>20)

// encode returns the content of the Secret of a release.
func encode(r any) ([]byte, error) {
	content, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("store the release: %w", err)
	}
	if len(content) > maxUnpacked {
		return nil, operon.TerminalError(ReasonReleaseTooLarge, fmt.Errorf("%w: exclude files from the chart with .helmignore", errTooLarge))
	}
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	data := base64.StdEncoding.AppendEncode(nil, packed.Bytes())
	if len(data) > corev1.MaxSecretSize {
		return nil, operon.TerminalError(ReasonReleaseTooLarge, fmt.Errorf("the release takes %d bytes, and a Secret can have %d: "+
			"exclude files from the chart with .helmignore", len(data), corev1.MaxSecretSize))
	}
	return data, nil
}

// decode reads the release in a Secret. Fields that into lacks take no memory.
func decode(secret *corev1.Secret, into any) error {
	packed, err := base64.StdEncoding.AppendDecode(nil, secret.Data[releaseKey])
	if err != nil {
		return err
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(reader, maxUnpacked+1))
	if err != nil {
		return err
	}
	if len(content) > maxUnpacked {
		return errTooLarge
	}
	return json.Unmarshal(content, into)
}

// summary is the part of a stored release that decides what happens to it.
type summary struct {
	Info *struct {
		FirstDeployed string `json:"first_deployed"`
	} `json:"info"`
	Chart struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	} `json:"chart"`
}

// summary reads the summary of the release in a Secret.
func (s *storage) summary(secret *corev1.Secret) (*summary, error) {
	s.unpacking.Lock()
	defer s.unpacking.Unlock()
	read := &summary{}
	if err := decode(secret, read); err != nil {
		return nil, err
	}
	if read.Info == nil {
		return nil, errors.New("the release has no info")
	}
	return read, nil
}

// chart returns the name of the chart, or "".
func (s *summary) chart() string { return s.Chart.Metadata.Name }

// firstDeployed returns the time of the first revision. It is zero if that is not known.
func (s *summary) firstDeployed() time.Time {
	at, _ := time.Parse(time.RFC3339Nano, s.Info.FirstDeployed)
	return at
}

// restated is a stored release whose status changes. The other fields stay as they are: decoded, a list such as [{},{}] would take a hundred times
// the memory of its text.
type restated struct {
	Name        json.RawMessage `json:"name,omitempty"`
	Info        *restatedInfo   `json:"info"`
	Chart       json.RawMessage `json:"chart,omitempty"`
	Config      json.RawMessage `json:"config,omitempty"`
	Manifest    json.RawMessage `json:"manifest,omitempty"`
	Hooks       json.RawMessage `json:"hooks,omitempty"`
	Version     json.RawMessage `json:"version,omitempty"`
	Namespace   json.RawMessage `json:"namespace,omitempty"`
	ApplyMethod json.RawMessage `json:"apply_method,omitempty"`
}

type restatedInfo struct {
	FirstDeployed    json.RawMessage `json:"first_deployed,omitempty"`
	LastDeployed     json.RawMessage `json:"last_deployed,omitempty"`
	Deleted          json.RawMessage `json:"deleted,omitempty"`
	Description      string          `json:"description,omitempty"`
	Status           common.Status   `json:"status,omitempty"`
	RollbackRevision json.RawMessage `json:"rollback_revision,omitempty"`
	Notes            json.RawMessage `json:"notes,omitempty"`
	Resources        json.RawMessage `json:"resources,omitempty"`
}

// restate returns the content of a release Secret with another status, or nil if it cannot be read. An empty description does not change it.
func (s *storage) restate(secret *corev1.Secret, status common.Status, description string) ([]byte, error) {
	s.unpacking.Lock()
	defer s.unpacking.Unlock()
	known := &restated{}
	if err := decode(secret, known); err != nil || known.Info == nil {
		return nil, nil //nolint:nilerr // as documented
	}
	known.Info.Status, known.Info.Description = status, cmp.Or(description, known.Info.Description)
	return encode(known)
}
