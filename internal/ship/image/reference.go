package image

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/distribution/reference"
)

// Name is the name of an image, in several forms.
type Name struct {
	// Full contains registry, repository and tag: the name in a node.
	Full string
	// Short is the form that users write.
	Short string
	// Tag is the part after the colon.
	Tag string
}

// ParseName parses the name of an image. It adds :latest to a name without a tag.
func ParseName(text string) (Name, error) {
	named, err := reference.ParseNormalizedNamed(text)
	if err != nil {
		return Name{}, fmt.Errorf("the image name %q: %w; want a name such as web:1.0 or registry.example.com/team/web:1.0", text, err)
	}
	if _, digested := named.(reference.Digested); digested {
		return Name{}, fmt.Errorf("the image name %q has a digest, which results from the build: remove it", text)
	}
	tagged, ok := reference.TagNameOnly(named).(reference.NamedTagged)
	if !ok {
		return Name{}, fmt.Errorf("the image name %q: want a name such as web:1.0", text)
	}
	return Name{Full: tagged.String(), Short: reference.FamiliarString(tagged), Tag: tagged.Tag()}, nil
}

// tagDigits is the number of digits of an image's digest in its tag, which distinguishes builds of an operator.
const tagDigits = 16

// ForPods returns the name of an image that is pushed, or else loaded into nodes, and its name in pods. A registry finds it by its digest; nodes
// find it only by a name, which contains a part of the digest.
func (i Image) ForPods(push, operator string) (name Name, inPods string, err error) {
	digest := i.Descriptor.Digest
	name, err = ParseName(cmp.Or(push, operator+":"+digest.Hex[:tagDigits]))
	if push == "" || err != nil {
		return name, name.Short, err
	}
	return name, strings.TrimSuffix(name.Full, ":"+name.Tag) + "@" + digest.String(), nil
}
