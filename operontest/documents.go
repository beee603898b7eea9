package operontest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/glob"
)

// document is one document of a YAML file.
type document struct {
	metav1.TypeMeta

	text []byte
}

// documentsIn reads a YAML file, or all YAML files of a directory.
func documentsIn(path string) ([]document, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = glob.In(path, "*.y*ml"); err != nil {
			return nil, err
		}
	}
	var all []document
	for _, file := range files {
		found, err := documentsOf(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

func documentsOf(file string) ([]document, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []document
	for reader := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		found := document{text: text}
		if err := yaml.Unmarshal(text, &found.TypeMeta); err != nil {
			return nil, err
		}
		all = append(all, found)
	}
}
