package packageserver

import (
	"context"
	"encoding/base64"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/aggregated"

	v1 "github.com/operon-framework/operon/internal/olm/api/packages/v1"
)

// noIcon is the picture of a package without an icon, a gray square: consoles show a picture for each package.
var noIcon = aggregated.Content{
	MediaType: "image/svg+xml",
	Data:      []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40"><rect x="4" y="4" width="32" height="32" rx="6" fill="#8a8d90"/></svg>`),
}

// icon returns the icon of the newest version in the default channel.
func (r *Reader) icon(ctx context.Context, key client.ObjectKey) (*aggregated.Content, error) {
	one, err := r.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	for _, channel := range one.Status.Channels {
		if icons := channel.CurrentCSVDesc.Icon; channel.Name == one.Status.DefaultChannel && len(icons) > 0 {
			return contentOf(icons[0]), nil
		}
	}
	return &noIcon, nil
}

// contentOf decodes an icon. One that is not an image is not returned: its publisher could make browsers show any content.
func contentOf(icon v1.Icon) *aggregated.Content {
	data, err := base64.StdEncoding.DecodeString(icon.Data)
	if err != nil || len(data) == 0 || !strings.HasPrefix(icon.MediaType, "image/") || strings.ContainsAny(icon.MediaType, "\r\n") {
		return &noIcon
	}
	return &aggregated.Content{MediaType: icon.MediaType, Data: data}
}
