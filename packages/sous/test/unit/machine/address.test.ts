import assert from "node:assert/strict";
import { test } from "node:test";
import { isPublicAddress } from "../../../src/machine/address.ts";

const REFUSED = `
  0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.254
  168.63.129.16 169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1
  192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.7 224.0.0.1 239.255.255.255
  240.0.0.1 255.255.255.255
  :: ::1 ::2 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:7f00:1 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1
  64:ff9b::a9fe:a9fe 64:ff9b:1::808:808 64:ff9b::1:808:808 100::1 2001::1 2001:0:7f00:1::1 2001:2::1 2001:10::1 2001:20::1
  2001:db8::1 2002:7f00:1:: 2002:808:808::1 3fff::1 3fff:fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fdff::1 fe80::1
  fe80::1%eth0 fec0::1 ff02::1 ff0e::1 2620:4f:8000::1 2620:4f:8000:ffff:ffff:ffff:ffff:ffff
  0:0:0:0:0:0:0:1 fe80:0:0:0:0:0:0:1 2001:db8:1:2:3:4:5:6
`;
const PUBLIC = `
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 168.63.129.17 169.253.255.255
  172.15.255.255 172.32.0.1 192.0.1.1 192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.1 223.255.255.255
  2000::1 2001:200::1 2001:4860:4860::8888 2606:4700::1111 2a00:1450::1 3ffe::1 3fff:1000::1 64:ff9b::8.8.8.8
  2620:4f:7fff::1 2620:4f:8001::1 2620:4e:8000::1 2620:50:8000::1 2621:4f:8000::1 2606:4700:0:0:0:0:0:1111
`;
const words = (text: string): string[] => text.trim().split(/\s+/);

test("B5.5: addresses of this machine, its network and reserved ones are not public", () => {
  assert.deepEqual(words(REFUSED).filter(isPublicAddress), []);
  assert.deepEqual(["", "localhost", "1.2.3", "1.2.3.4.5", "0x7f.1", "[::1]", "::1%"].filter(isPublicAddress), []);
});

test("B5.5: addresses beside the reserved ones are public", () => {
  assert.deepEqual(
    words(PUBLIC).filter((address) => !isPublicAddress(address)),
    [],
  );
});
