package scaffold

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/mod/module"
	"k8s.io/apimachinery/pkg/util/validation"
)

// reservedKinds lists kinds that Kubernetes itself adds to each version of an API, and names that each of these packages
// declares.
var reservedKinds = []string{
	"WatchEvent", "ListOptions", "GetOptions", "DeleteOptions", "CreateOptions", "UpdateOptions", "PatchOptions",
	"GroupVersion", "AddToScheme",
}

var (
	camelCase  = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	apiVersion = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)
)

// longestKind leaves room for "List" and a plural in names of Kubernetes.
const longestKind = 55

// CheckKind returns an error if the name of a kind is invalid.
func CheckKind(kind string) error {
	switch {
	case kind == "":
		return errors.New("the kind is missing: give one with --kind, such as Memcached")
	case !camelCase.MatchString(kind):
		return fmt.Errorf("kind %q is not in CamelCase: letters and digits only, the first one uppercase%s", kind, suggestKind(kind))
	case len(kind) > longestKind:
		return fmt.Errorf("kind %s has %d letters: at most %d are allowed", kind, len(kind), longestKind)
	case strings.HasSuffix(kind, "List"):
		return fmt.Errorf("kind %s ends in List, which is reserved for lists: choose another name", kind)
	case slices.Contains(reservedKinds, kind):
		return fmt.Errorf("kind %s is reserved by the Kubernetes API packages; choose another name", kind)
	}
	return nil
}

// suggestKind converts a name to CamelCase, if possible.
func suggestKind(typed string) string {
	words := strings.FieldsFunc(typed, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	if kind := strings.Join(words, ""); camelCase.MatchString(kind) {
		return ", such as " + kind
	}
	return ""
}

// CheckVersion returns an error if the version of an API is invalid.
func CheckVersion(version string) error {
	if version == "" {
		return errors.New("the version is missing: give one with --version, such as v1alpha1")
	}
	if !apiVersion.MatchString(version) {
		return fmt.Errorf("%q is not an API version: want one like v1, v1beta1 or v2alpha3", version)
	}
	return nil
}

// CheckGroup returns an error if an API group is invalid.
func CheckGroup(group string) error {
	switch {
	case group == "":
		return errors.New("the group is missing: give one with --group, such as cache.example.com")
	case group != strings.ToLower(group):
		return fmt.Errorf("group %q has uppercase letters, which Kubernetes does not allow: write %s", group, strings.ToLower(group))
	case len(validation.IsDNS1123Subdomain(group)) > 0:
		return fmt.Errorf("group %q is not a domain name: want lowercase letters, digits, - and dots, such as cache.example.com", group)
	case !strings.Contains(group, "."):
		return fmt.Errorf("group %q is not complete, because the project has no domain: write %s.example.com, with your domain instead of example.com", group, group)
	case group == "k8s.io" || group == "kubernetes.io" || strings.HasSuffix(group, ".k8s.io") || strings.HasSuffix(group, ".kubernetes.io"):
		return fmt.Errorf("group %s is in a domain of the Kubernetes project, and API servers accept such CRDs only with its approval: choose your own domain", group)
	}
	return nil
}

// CheckDomain returns an error if the domain of a project's groups is invalid.
func CheckDomain(domain string) error {
	if err := CheckGroup("x." + domain); err != nil {
		return errors.New(strings.NewReplacer(`group "x.`, `domain "`, "group x.", "domain ", "write x.", "write ", "cache.example.com", "example.com").Replace(err.Error()))
	}
	return nil
}

// checkPlural returns an error if a plural is invalid.
func checkPlural(plural string) error {
	if len(validation.IsDNS1035Label(plural)) > 0 {
		return fmt.Errorf("plural %q is not a valid name of a resource: want lowercase letters, digits and -, such as memcacheds", plural)
	}
	return nil
}

// checkShortName returns an error if a short name is invalid. It may be empty.
func checkShortName(short string) error {
	if short != "" && len(validation.IsDNS1035Label(short)) > 0 {
		return fmt.Errorf("short name %q is not a valid name of a resource: want lowercase letters, digits and -, such as mc", short)
	}
	return nil
}

// CheckModule returns an error if the path of a Go module is invalid.
func CheckModule(path string) error {
	if err := module.CheckImportPath(path); err != nil {
		var why *module.InvalidPathError
		if errors.As(err, &why) {
			err = why.Err
		}
		return fmt.Errorf("module path %q: %w; want one like example.com/memcached-operator", path, err)
	}
	if first, _, _ := strings.Cut(path, "/"); slices.Contains(standard, first) {
		return fmt.Errorf("module path %q begins like a package of the standard library: put a domain first, as in example.com/%s", path, path)
	}
	return nil
}

// standard lists the first path elements of the packages in Go's standard library.
var standard = strings.Fields(`archive arena bufio builtin bytes cmd cmp compress container context crypto database debug
	embed encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin
	reflect regexp runtime slices sort strconv strings structs sync syscall testing text time unicode unique unsafe vendor weak std main`)

// lowerCamel returns a kind as the prefix of an unexported Go name: VMGroup becomes vmGroup.
func lowerCamel(kind string) string {
	upper := 0
	for upper < len(kind) && unicode.IsUpper(rune(kind[upper])) {
		upper++
	}
	if upper > 1 && upper < len(kind) {
		upper--
	}
	return strings.ToLower(kind[:upper]) + kind[upper:]
}
