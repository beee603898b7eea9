package image

import (
	"context"
	"fmt"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Single describes an image with one layer, for one platform.
type Single struct {
	// By names the tool that creates it, for its history.
	By string
	// Platform is OS/ARCH. The default is linux and this machine's architecture.
	Platform string
	// Run defines how its containers run.
	Run   v1.Config
	Files []File
}

// MakeSingle creates the image.
func (s *Store) MakeSingle(ctx context.Context, from Single) (Image, Layer, error) {
	platform, err := ParsePlatform(from.Platform)
	if err != nil {
		return Image{}, Layer{}, err
	}
	created, err := SourceDate(Epoch)
	if err != nil {
		return Image{}, Layer{}, err
	}
	layer, err := s.Layer(ctx, from.By, from.Files)
	if err != nil {
		return Image{}, Layer{}, err
	}
	made, err := s.Image(Config{Platform: platform, Run: from.Run, Created: created}, layer)
	return Image{Descriptor: made}, layer, err
}

// ParsePlatform parses OS/ARCH or OS/ARCH/VARIANT; "" means linux on this machine's architecture.
func ParsePlatform(text string) (v1.Platform, error) {
	if text == "" {
		return v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, nil
	}
	found, err := v1.ParsePlatform(text)
	if err != nil || found.OS != "linux" || found.Architecture == "" || found.OSVersion != "" {
		return v1.Platform{}, fmt.Errorf("the platform %q: want linux/ARCH, such as linux/amd64", text)
	}
	return *found, nil
}
