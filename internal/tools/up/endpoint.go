package up

import (
	"errors"
	"io/fs"
	"os"

	"github.com/operon-framework/operon/internal/tools/glob"
	"github.com/operon-framework/operon/local"
)

// endpointFile is a file in a project's state directory. While the operator runs, it holds the address at which the operator answers probes
// and, if it is built with Operon, reports its reconciles.
const endpointFile = "endpoint"

// Endpoints returns the addresses, HOST:PORT, of the operators that Run runs on this machine. Addresses of operators whose
// Run was killed may be included.
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
			continue // it ended in the meantime
		}
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, string(content))
	}
	return addresses, nil
}
