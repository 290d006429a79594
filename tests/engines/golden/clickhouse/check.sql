SELECT toValidUTF8(toString("user_id")) AS c0, toValidUTF8(toString("item")) AS c1 FROM "shop"."events" WHERE 1 = 0
