package up

import (
	"errors"
	"io/fs"
	"os"

	"github.com/operon-framework/operon/internal/tools/glob"
	"github.com/operon-framework/operon/local"
)

// endpointFile holds, in the directory of a project, where its operator answers probes while it
// runs, and what it did where it is one of Operon's.
const endpointFile = "endpoint"

// Endpoints are the addresses, HOST:PORT, of the operators that Run has running on this
// machine. One whose Run was killed may be among them.
func Endpoints() ([]string, error) {
	parent, err := local.Folder("up")
	if err != nil {
		return nil, err
	}
	files, err := glob.In(parent, "*/"+endpointFile)
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it ended just now
		}
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, string(content))
	}
	return addresses, nil
}
