package confd

import (
	"strings"
	"testing"
)

func TestFunctions(t *testing.T) {
	d := dataOf(t, cluster)
	long := strings.Repeat("a", 46)
	for _, tt := range []struct{ template, want string }{
		// Keys and values.
		{`{{exists "/bgp/v1/global/as_num"}} {{exists "/bgp/v1/global"}}`, "true false"},
		{`{{with get "/bgp/v1/global/as_num"}}{{.Key}}={{.Value}}{{end}}`, "/bgp/v1/global/as_num=64500"},
		{`{{getv "/bgp/v1/global/as_num" "other"}} {{getv "/none" "first" "second"}} {{getv "/bgp/v1/host/a/rr_cluster_id" "other"}}.`, "64500 first ."},
		{`{{range gets "/bgp/v1/host/*/as_num"}}{{.Key}}={{.Value}}{{end}}{{len (gets "/none/*")}}`, "/bgp/v1/host/b/as_num=645020"},
		{`{{getvs "/bgp/v1/host/*/ip_addr_v4"}}`, "[192.0.2.1 192.0.2.2]"},
		{`{{ls "/bgp/v1/host"}} {{lsdir "/bgp/v1"}} {{ls "/none"}} {{ls "/"}}`, "[a b] [global host] [] []"},
		// Texts.
		{`{{base "/a/b"}} {{dir "/a/b"}} {{join (split "a,b,c" ",") "-"}} {{toUpper "ab"}} {{toLower "AB"}}`, "b /a a-b-c AB ab"},
		{`{{contains "abc" "b"}} {{hasSuffix "abc" "bc"}} {{trimSuffix "abc" "bc"}} {{replace "aaa" "a" "b" 2}} {{replace "a.b" "." "_" -1}}`, "true true a bba a_b"},
		{`{{base64Encode "a?"}} {{base64Decode "YT8="}}`, "YT8= a?"},
		{`{{reverse (split "a,b" ",")}} {{sortByLength (split "ccc,a,bb" ",")}} {{range sortKVByLength (gets "/bgp/v1/host/*/as_num")}}{{.Value}}{{end}}`, "[b a] [a bb ccc] 64502"},
		// Numbers.
		{`{{seq 1 3}} {{add 1 2}} {{sub 1 2}} {{mul 3 4}} {{div 7 2}} {{mod 7 2}} {{atoi "12"}} {{parseBool "true"}}`, "[1 2 3] 3 -1 12 3 1 12 true"},
		// JSON, whose numbers print as Go prints them.
		{`{{$x := json "{\"a\": 64512, \"b\": 4200000000, \"c\": null, \"d\": true}"}}{{$x.a}} {{$x.b}} {{if $x.c}}c{{end}}{{if $x.d}}d{{end}}{{if $x.none}}none{{end}}`, "64512 4.2e+09 d"},
		{`{{len (json "null")}} {{len (jsonArray "null")}} {{jsonArray "[1, \"a\"]"}}`, "0 0 [1 a]"},
		{`{{$m := map "a" 1 "b" "x"}}{{$m.a}}{{$m.b}}{{len map}}`, "1x0"},
		// The environment. An empty variable counts as not set, and the node's name need not be one.
		{`{{getenv "SET" "other"}} {{getenv "EMPTY" "other"}} {{getenv "NONE"}}. {{getenv "NODENAME"}}`, "x other . a"},
		{`{{getenv "NODENAME" "other"}} {{len (seq 9223372036854775806 9223372036854775807)}}`, "a 2"},
		{`{{fileExists "/"}} {{fileExists "/none/at/all"}}`, "true false"},
		{`{{len (lookupIP "none.invalid")}} {{len (lookupSRV "bgp" "tcp" "none.invalid")}}`, "0 0"},
		{`{{lookupIPV4 "127.0.0.1"}} {{len (lookupIPV6 "127.0.0.1")}}`, "[127.0.0.1] 0"},
		{`{{if datetime.Year}}now{{end}}`, "now"},
		{`{{print "a" 1}}{{printf "%05d" 7}}{{println "b"}}{{html "<"}}{{js "'"}}{{urlquery "a b"}}`, "a100007b\n&lt;\\'a+b"},
		// Calico's, with the vectors that are known of them.
		{`{{hashToIPv4 "kube-master"}} {{hashToIPv4 "worker-1"}} {{hashToIPv4 "node-a"}} {{hashToIPv4 "nodeTest"}} {{hashToIPv4 "Testrobin123"}}`,
			"25.79.212.8 19.2.159.158 102.87.15.240 109.174.215.226 207.94.5.27"},
		{`{{bgpFilterFunctionName "f" "Import" "4"}} {{emitFunctionName "f" "EXPORT" "6"}}`, "'bgp_f_importFilterV4' 'bgp_f_exportFilterV6'"},
		{`{{bgpFilterFunctionName "tenant-blue.export-policy.for-the-second-site.v2" "export" "4"}}`, "'bgp_tenant-blue.export-policy.fo_76734B2FEF83AF63_exportFilterV4'"},
		{`{{bgpFilterFunctionName "46characters.exactly.so.should.truncate-123456" "import" "6"}}`, "'bgp_46characters.exactly.so.shou_9615CBDC00BAC628_importFilterV6'"},
		{`{{bgpFilterFunctionName "` + long + `" "import" "4"}} {{bgpFilterFunctionName "` + long[1:] + `" "import" "4"}}`,
			"'bgp_" + long[:28] + "_6643110C5628FFF5_importFilterV4' 'bgp_" + long[1:] + "_importFilterV4'"},
		{`{{range bgpFilterBIRDFuncs (gets "/resources/v3/projectcalico.org/bgpfilters/*") 4}}{{.}}
{{end}}`, lines("# v4 BGPFilter/f", "function 'bgp_f_importFilterV4'(bool is_same_as) {",
			"  if (is_same_as) then { if ((net ~ [ 10.2.0.0/16{24,28} ])&&(defined(bgp_local_pref)&&(bgp_local_pref = 2147483135))) then { bgp_local_pref = 2147483391; bgp_path.prepend(65002); bgp_path.prepend(65001); accept; } }",
			"  reject;", "}", "")},
		{`{{emitBIRDBGPFilterFuncs (gets "/resources/v3/projectcalico.org/bgpfilters/*") 6}}`, "[# No v6 BGPFilters]"},
		{`{{bgpFilterBIRDFuncs (gets "/none/*") 4}}`, "[# No v4 BGPFilters]"},
	} {
		got, err := execute(t, d, tt.template)
		if err != nil || got != tt.want {
			t.Errorf("%s\n got %q, %v\nwant %q", tt.template, got, err, tt.want)
		}
	}
}

// The union of all generations is there, and nobody but the guard sees what it calls.
func TestFunctionNames(t *testing.T) {
	names := strings.Join(FunctionNames(), " ") + " "
	for _, want := range strings.Fields("getBGPConfig bgpFilterBIRDFuncs bgpFilterFunctionName hashToIPv4 emitFunctionName emitBIRDBGPFilterFuncs getenv lookupSRV") {
		if !strings.Contains(names, want+" ") {
			t.Errorf("%s is not there", want)
		}
	}
	if strings.Contains(names, "birdconfd") {
		t.Errorf("%s", names)
	}
}
