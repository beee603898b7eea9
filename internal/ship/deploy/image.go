package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/operon-framework/operon/internal/ship/build"
	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/local"
)

// unbuilt is a placeholder for an image that does not have a name yet.
const unbuilt = "unbuilt"

// making is an image that is built for a deployment. It is delivered after everything else was tried.
type making struct {
	built *build.Result // nil if the user named an image
	name  image.Name
	to    image.Delivery
}

// build builds the image, unless one is named. Pods refer to it by its digest, so that they are replaced if and only if the
// image changed.
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
		d.options.warn("the image names no revision: %s", why)
	}
	if m.name, d.operator.Image, err = m.built.Image.ForPods(to.Push, d.operator.Name); err != nil {
		return nil, errors.Join(err, m.close())
	}
	d.result.Image = d.operator.Image
	return m, nil
}

// Destination returns where to deliver a built image. Whether this is possible is checked before anything else.
func (o Options) Destination(ctx context.Context) (image.Delivery, error) {
	if o.Image != "" || o.Push != "" {
		return image.Delivery{Push: o.Push}, nil
	}
	name := cmp.Or(o.Where.Name, local.DefaultName)
	if err := local.TakesImages(ctx, name); err != nil {
		return image.Delivery{}, fmt.Errorf("%w; or name an existing image with --image NAME: simulated nodes accept any name and run no containers", err)
	}
	return image.Delivery{Cluster: name}, nil
}

// deliver makes the image available to pods.
func (m *making) deliver(ctx context.Context) error {
	if m.built == nil {
		return nil
	}
	_, err := m.built.Store.Deliver(ctx, m.name, m.built.Image, m.to)
	return err
}

// close allows other processes to build the project.
func (m *making) close() error {
	if m.built == nil {
		return nil
	}
	return m.built.Close()
}
