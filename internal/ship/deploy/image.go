package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/local"
)

const (
	// unbuilt stands for an image as long as it has no name.
	unbuilt = "unbuilt"
	// tagDigits of an image's digest tell the builds of an operator apart.
	tagDigits = 16
)

// making is an image that is built for a deployment. It goes where pods get it when all else has been tried.
type making struct {
	built *build.Result // nil where the image is another client's
	name  image.Name
	to    image.Delivery
}

// build builds the image, unless one is named, and lets the pods have it by its digest: so they are replaced when it
// changed, and only then.
func (d *deployer) build(ctx context.Context) (*making, error) {
	if d.options.Image != "" {
		return &making{}, nil
	}
	to := d.to
	say := func(doing string) { d.options.say("%s", doing) }
	how := d.options.Build
	how.Main, how.Tell, to.Tell = d.options.Main, say, say
	m := &making{to: to}
	var err error
	if m.built, err = build.Run(ctx, d.options.Dir, how); err != nil {
		return nil, err
	}
	if why := m.built.Unrevised; why != "" {
		d.options.say("the image names no revision: %s", why)
	}
	if d.operator.Image, err = m.reference(d.operator.Name); err != nil {
		return nil, errors.Join(err, m.close())
	}
	d.result.Image = d.operator.Image
	return m, nil
}

// destination is where an image goes that is built. Whether it can is asked before anything else.
func (o Options) destination(ctx context.Context) (image.Delivery, error) {
	if o.Image != "" || o.Push != "" {
		return image.Delivery{Push: o.Push}, nil
	}
	name := cmp.Or(o.Where.Name, local.DefaultName)
	if err := local.TakesImages(ctx, name); err != nil {
		return image.Delivery{}, fmt.Errorf("%w; or name any image with --image NAME, of which simulated nodes run nothing", err)
	}
	return image.Delivery{Cluster: name}, nil
}

// reference is by what pods name the image. A registry finds it by its digest; nodes that it is loaded into, by a name
// only, of which the digest is a part.
func (m *making) reference(operator string) (string, error) {
	digest := m.built.Image.Descriptor.Digest
	text := cmp.Or(m.to.Push, operator+":"+digest.Hex[:tagDigits])
	var err error
	if m.name, err = image.ParseName(text); err != nil {
		return "", err
	}
	if m.to.Push == "" {
		return m.name.Short, nil
	}
	return strings.TrimSuffix(m.name.Full, ":"+m.name.Tag) + "@" + digest.String(), nil
}

// deliver brings the image to where pods get it.
func (m *making) deliver(ctx context.Context) error {
	if m.built == nil {
		return nil
	}
	_, err := m.built.Store.Deliver(ctx, m.name, m.built.Image, m.to)
	return err
}

// close lets others build the project.
func (m *making) close() error {
	if m.built == nil {
		return nil
	}
	return m.built.Close()
}
