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
		"with-dash": "with_dash", "already_snake": "already_snake", "": "", " ": "",
		"kubernetes.io/os": "kubernetes.io/os", "app.kubernetes.io/partOf": "app.kubernetes.io/part_of", "HTTP_PROXY": "http_proxy",
		"HTTPS_PROXY": "_https_proxy", "NO_PROXY": "_no_proxy", "a__b": "a__b", "__private": "__private", "last_": "last_", "THIS_IS_SKIP_NOT_SK_IP": "_this_is_skip_not_sk_ip",
		"egressIPEgress": "egress_ip_egress", "egressIPegress": "egress_ip_egress", "x1y2": "x_1_y2", "a1b2c3": "a_1_b2c3", "podIP_v4": "pod_ip__v4",
		"aB": "ab", "xAxis": "x_axis", "fooBAR": "foo_bar", "URLs": "__urls", "IPIP": "_ipip", "myIPIPs": "my_ip_i_ps", "größeMax": "größe_max",
	} {
		if got := snake(key); got != want {
			t.Errorf("%q becomes %q, want %q", key, got, want)
		}
	}
}
