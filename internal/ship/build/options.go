package build

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/operon-framework/operon/internal/ship/image"
)

// Options are settings that are not part of the project.
type Options struct {
	// Main is the directory of the main package, if the project has several.
	Main string
	// Platforms lists the platforms to build for, as OS/ARCH or OS/ARCH/VARIANT. The default is linux and this machine's
	// architecture. With several platforms, the image is an index.
	Platforms []string
	// Version is the version of the operator, for the labels.
	Version string
	// Labels are added to the known labels, or replace them.
	Labels map[string]string
	// Tags are build tags.
	Tags []string
	// Roots are PEM certificates that are trusted in addition.
	Roots []byte
	// Ours are files to which the image will be written. They do not count as changes of the project.
	Ours []string
	// By is the version of Operon, which the SBOM names as its author.
	By string
	// Again builds even if nothing changed.
	Again bool
	// Tell receives descriptions of the progress. By default, there are none.
	Tell func(string)
}

// architectures lists the architectures that Go and Kubernetes support, with their variants and the go command's settings for
// them.
var architectures = map[string]map[string][]string{
	"amd64":   {"": {"GOAMD64=v1"}, "v2": {"GOAMD64=v2"}, "v3": {"GOAMD64=v3"}},
	"arm64":   {"": {"GOARM64=v8.0"}, "v8": {"GOARM64=v8.0"}},
	"arm":     {"": {"GOARM=7"}, "v7": {"GOARM=7"}, "v6": {"GOARM=6"}},
	"386":     {"": {"GO386=sse2"}},
	"ppc64le": {"": {"GOPPC64=power8"}},
	"riscv64": {"": {"GORISCV64=rva20u64"}},
	"s390x":   {"": nil},
}

// platform is the platform for which a program is built.
type platform struct {
	v1.Platform
	// env holds settings of the go command.
	env []string
}

// platforms parses the platforms in the options, and returns them in their order. It fails if a platform is listed twice.
func (o Options) platforms() ([]platform, error) {
	named := o.Platforms
	if len(named) == 0 {
		named = []string{"linux/" + runtime.GOARCH}
	}
	var found []platform
	for _, text := range named {
		one, err := parsePlatform(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(found, func(p platform) bool { return p.Equals(one.Platform) }) {
			return nil, fmt.Errorf("the platform %s is listed twice", text)
		}
		found = append(found, one)
	}
	return found, nil
}

func parsePlatform(text string) (platform, error) {
	system, rest, _ := strings.Cut(text, "/")
	architecture, variant, _ := strings.Cut(rest, "/")
	known := slices.Sorted(maps.Keys(architectures))
	if system != "linux" {
		return platform{}, fmt.Errorf("the platform %q: images are made for linux; want linux/ARCH, ARCH one of %s", text, strings.Join(known, ", "))
	}
	variants, ok := architectures[architecture]
	if !ok {
		return platform{}, fmt.Errorf("the platform %q: want linux/ARCH, ARCH one of %s", text, strings.Join(known, ", "))
	}
	settings, ok := variants[variant]
	if !ok {
		return platform{}, fmt.Errorf("the platform %q: %s has no variant %q; want %s", text, architecture, variant, strings.Join(slices.Sorted(maps.Keys(variants))[1:], ", "))
	}
	made := platform{Platform: v1.Platform{OS: system, Architecture: architecture, Variant: variant}}
	made.env = append([]string{"GOOS=" + system, "GOARCH=" + architecture}, settings...)
	return made, nil
}

// Check returns an error if the options are invalid, before anything is done.
func (o Options) Check() error {
	_, err := o.platforms()
	for name := range o.Labels {
		if name == "" {
			err = errors.Join(err, errors.New("a label has no name: want NAME=VALUE"))
		}
	}
	_, epoch := image.SourceDate(image.Epoch)
	return errors.Join(err, epoch)
}

func (o Options) tell(format string, values ...any) {
	if o.Tell != nil {
		o.Tell(fmt.Sprintf(format, values...))
	}
}
