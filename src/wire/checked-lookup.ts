import { type LookupAddress, lookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { WireError } from "./errors.js";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8);
LOOPBACK.addSubnet("0.0.0.0", 8);
LOOPBACK.addAddress("::1", "ipv6");
LOOPBACK.addAddress("::", "ipv6");

/** Where clouds tell a machine its credentials. */
const LINK_LOCAL = new BlockList();
LINK_LOCAL.addSubnet("169.254.0.0", 16);
LINK_LOCAL.addSubnet("fe80::", 10, "ipv6");

/** Names that the owner of this machine or network gives, not the owner of a domain (RFC 6761, 6762, 8375, and ICANN's .internal). */
const OWN_NAME = /^[^.]+$|\.(?:localhost|local|internal|test|home\.arpa|lan)$/i;
const NEIGHBOUR_NAME = /^[^.]+$|\.local$/i;

/**
 * A `lookup` for sockets: what it lets through is what is connected to, so no name can mean another address in between (DNS
 * rebinding). A public name never leads to this machine's loopback interface or a link-local address: whoever owns the name would
 * else send requests there.
 * @param resolve how names become addresses; by default the system's way
 */
export function checkedLookup(resolve: LookupFunction = lookup as LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, options, (error, address, family) => {
      if (error !== null) return callback(error, address, family);
      const found: readonly LookupAddress[] = Array.isArray(address)
        ? address
        : [{ address, family: family ?? isIP(address) }];
      const refused = found.some((one) => isForbidden(hostname.replace(/\.$/, ""), one.address));
      if (!refused) return callback(null, address, family);
      const text = `${hostname} leads to an address of this machine. If that is meant, name it by localhost or by its address; nothing was sent.`;
      callback(new WireError("origin_refused", text), "", 0);
    });
  };
}

function isForbidden(name: string, address: string): boolean {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  // A block list of IPv4 knows the mapped form of IPv6 as well.
  if (LOOPBACK.check(address, family)) return !OWN_NAME.test(name);
  return LINK_LOCAL.check(address, family) && !NEIGHBOUR_NAME.test(name);
}
