package image

import (
	"fmt"

	"github.com/distribution/reference"
)

// Name is the name of an image, in its forms.
type Name struct {
	// Full has registry, repository and tag: what a node knows the image by.
	Full string
	// Short is as people write it.
	Short string
	// Tag is what stands after the colon.
	Tag string
}

// ParseName reads the name of an image, to which :latest is added where it has no tag.
func ParseName(text string) (Name, error) {
	named, err := reference.ParseNormalizedNamed(text)
	if err != nil {
		return Name{}, fmt.Errorf("the image name %q: %w; want a name such as web:1.0 or registry.example.com/team/web:1.0", text, err)
	}
	if _, digested := named.(reference.Digested); digested {
		return Name{}, fmt.Errorf("the image name %q has a digest, which comes of what is made: leave it out", text)
	}
	tagged, ok := reference.TagNameOnly(named).(reference.NamedTagged)
	if !ok {
		return Name{}, fmt.Errorf("the image name %q: want a name such as web:1.0", text)
	}
	return Name{Full: tagged.String(), Short: reference.FamiliarString(tagged), Tag: tagged.Tag()}, nil
}
