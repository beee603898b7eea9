package packageserver

import (
	"testing"

	v1 "github.com/operon-framework/operon/internal/olm/api/packages/v1"
)

// Whatever a publisher calls an icon, only images are returned.
func TestContentOf(t *testing.T) {
	t.Parallel()
	if got := contentOf(v1.Icon{Data: "PHN2Zy8+", MediaType: "image/svg+xml"}); string(got.Data) != "<svg/>" || got.MediaType != "image/svg+xml" {
		t.Errorf("the icon is %q of the type %s", got.Data, got.MediaType)
	}
	for _, wrong := range []v1.Icon{
		{}, {MediaType: "image/png"}, {Data: "PHN2Zy8+", MediaType: "text/html"}, {Data: "PHN2Zy8+"}, {Data: "no base64!", MediaType: "image/png"},
		{Data: "PHN2Zy8+", MediaType: "image/png\r\nX: y"},
	} {
		if contentOf(wrong) != &noIcon {
			t.Errorf("%+v is returned", wrong)
		}
	}
}
