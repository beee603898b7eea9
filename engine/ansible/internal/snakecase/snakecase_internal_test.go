package snakecase

import "testing"

// The pairs are those that Operator SDK's users rely on.
func TestSnake(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"size": "size", "awningColor": "awning_color", "JSONData": "_json_data", "sizeK8sBuckets": "size_k8s_buckets", "888": "888",
		"_k8s_var": "_k8s_var", "k8s var": "k8s_var", "ThisShouldHave": "_this_should_have", "_CanYou_Handle_mixedVars": "_can_you_handle_mixed_vars",
		"egressIP": "egress_ip", "egressIPs": "egress_ips", "egressIPsegress": "egress_ips_egress", "IPsegress": "_ips_egress",
		"URLegressIPEgressHTTP": "url_egress_ip_egress_http", "URLsegressIPsEgressHTTPs": "_urls_egress_ips_egress_https",
		"with-dash": "with_dash", "already_snake": "already_snake", "": "",
	} {
		if got := snake(key); got != want {
			t.Errorf("%q becomes %q, want %q", key, got, want)
		}
	}
}
